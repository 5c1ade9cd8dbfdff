"""Extract why a stage failed from the pages of text that Spark keeps."""

import re

_LONGEST = 500
# Frames are indented; what was raised stands at the margin below them (the traceback module).
_RAISED_IN_PYTHON = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(\S.*)")
_CAUSED_BY = re.compile(r"^Caused by: (.*)", re.MULTILINE)  # Throwable.printStackTrace
# TaskSetManager's words. Only the first on a line counts: looking at each again would be quadratic.
_LAST_ATTEMPT = re.compile(r"most recent failure: Lost task (?>[^\n]*?\): ([^\n]+)|[^\n]*)")


def cause_of(failure: str) -> str:
    """Return the line that names the cause, at most 500 characters.

    What Python raised last, else the innermost cause of Java's, else what the last attempt of the
    task ended with, else the first line.
    """
    for pattern in (_RAISED_IN_PYTHON, _CAUSED_BY, _LAST_ATTEMPT):
        causes = [cause for cause in pattern.findall(failure) if cause]
        if causes:
            return str(causes[-1]).strip()[:_LONGEST]
    return failure.strip().partition("\n")[0][:_LONGEST]
