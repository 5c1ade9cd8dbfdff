package io.hearth.workloads

/** Something the user can correct: one line, shown without a stack trace, exit code 2. */
class UserError(message: String, cause: Option[Throwable] = None)
    extends Exception(message, cause.orNull)
