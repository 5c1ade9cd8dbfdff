"""One self-contained HTML page of one or several runs: no network, no script library."""
