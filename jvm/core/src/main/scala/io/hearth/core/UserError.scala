package io.hearth.core

/**
 * Something the user can correct. The message states the name, the value, the limit and what to
 * do next, in one line; it has no stack trace, whoever shows it.
 */
final class UserError(message: String, cause: Option[Throwable] = None)
    extends RuntimeException(message, cause.orNull, true, false)
