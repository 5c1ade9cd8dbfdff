package io.hearth.core

import org.scalatest.funsuite.AnyFunSuite

class RedactionTest extends AnyFunSuite {
  private val redaction = Redaction.of(_ => None)
  private val canary = "c4n4ry"

  test("the value of a setting that holds a secret is not shown") {
    Seq(
      "spark.authenticate.secret" -> canary,
      "spark.hadoop.fs.s3a.access.key" -> canary,
      "spark.executorEnv.DB_PASSWORD" -> canary,
      "spark.executor.extraJavaOptions" -> s"-Xss4m -Ddb.password=$canary -Dx=y",
      "spark.my.note" -> s"the secret is $canary",
      "spark.url" -> s"jdbc:postgresql://h/db?user=me&password=$canary",
      "spark.repo" -> s"https://me:$canary@host/x.git",
      "spark.my.json" -> s"""{"user": "me", "password": "$canary"}"""
    ).foreach { case (key, value) =>
      val shown = redaction.setting(key, value)
      assert(!shown.contains(canary) && shown.contains(Redaction.Redacted), key)
    }
    assert(redaction.word(s"-Dmy.token=two words $canary") == s"-Dmy.token=${Redaction.Redacted}")
  }

  test("what holds no secret is shown as it is, names of files too") {
    val options = "-Xlog:gc*:file=/secrets/gc-%p.log:time -Da=b"
    assert(redaction.setting("spark.executor.extraJavaOptions", options) == options)
    assert(
      redaction.setting(
        "spark.jars",
        "/secrets/a.jar,file:/token.jar"
      ) == "/secrets/a.jar,file:/token.jar"
    )
  }

  test("the user's own pattern holds in place of Spark's, and a wrong one is refused by name") {
    val own = Redaction.of(Map("spark.redaction.regex" -> "geheim").get)
    assert(own.setting("spark.geheim", "x") == Redaction.Redacted)
    assert(own.setting("spark.secret", "x") == "x")
    val text = Redaction.of(Map("spark.redaction.string.regex" -> "[0-9]{4}").get)
    assert(text.setting("spark.x", "a 1234") == s"a ${Redaction.Redacted}")
    val wrong = intercept[UserError](Redaction.of(Map("spark.redaction.regex" -> "(").get))
    assert(wrong.getMessage.startsWith("spark.redaction.regex: '('"))
  }

  test("control characters are shown as escapes, and text stays") {
    assert(
      Terminal.escaped("a\u001b]0;x\u0007\r\u009b\u202eb") == "a\\x1b]0;x\\x07\\x0d\\x9b\\u202eb"
    )
    assert(Terminal.escaped("Größe\t温度\n") == "Größe\t温度\n")
  }
}
