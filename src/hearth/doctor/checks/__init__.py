"""One file for each check: its docstring says why it matters, `CHECK` what is known of it."""
