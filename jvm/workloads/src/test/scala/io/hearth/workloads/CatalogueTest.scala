package io.hearth.workloads

import org.scalatest.funsuite.AnyFunSuite

class CatalogueTest extends AnyFunSuite {

  test("every job takes its own defaults, by each of its interfaces") {
    assert(Catalogue.jobs.nonEmpty)
    for {
      job <- Catalogue.jobs
      api <- job.parameters.find(_.name == "api").fold(Seq(""))(_.choices)
    } withClue(s"${job.name} $api: ") {
      val chosen = if (api.isEmpty) Map.empty[String, String] else Map("api" -> api)
      job.fit(Settings.of(job.name, job.parameters, chosen))
    }
  }
}
