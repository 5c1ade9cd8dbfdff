"""Find the fastest configuration of an application in few runs."""
