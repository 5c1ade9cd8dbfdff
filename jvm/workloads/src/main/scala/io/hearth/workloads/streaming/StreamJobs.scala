package io.hearth.workloads.streaming

import io.hearth.workloads.Job

/** The streaming jobs of the published studies (Awan 2016; spark-bench, Spark's own examples). */
object StreamJobs {
  val all: Seq[Job] = Seq(
    NetworkWordCount,
    NetworkGrep,
    WindowedWordCount,
    StatefulWordCount,
    SqlWordCount,
    ErrorRatePerZip,
    PageCounts,
    SlidingPageCounts,
    ActiveUserCount,
    PopularUsersSeen,
    PopularTags,
    CountMinTopK,
    HllUniqueUsers,
    StreamingClusters,
    StreamingLinear,
    StreamingLogistic
  )
}

private[streaming] object Published {

  /** How Awan 2016 ran all of its streaming jobs. */
  val protocol = "batches of 2 s, 10 to 10,000 events/s, 180 s after 10 s (Awan 2016)"
}
