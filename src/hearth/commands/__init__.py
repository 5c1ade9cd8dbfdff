"""One file for each subcommand: its docstring is its help; `add_arguments` and `run`."""
