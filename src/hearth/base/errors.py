"""The one exception that a user is meant to see."""


class UserError(Exception):
    """Something the user can correct.

    The message is one line that states the name, the value, the limit and what to do next.
    It is shown without a stack trace, and the command ends with exit code 2.
    """
