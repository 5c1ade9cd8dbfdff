"""One self-contained HTML page of one or several runs; it loads nothing from the network."""
