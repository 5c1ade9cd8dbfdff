"""A module beside programs that import it in their tasks."""

WORD = "beside"
