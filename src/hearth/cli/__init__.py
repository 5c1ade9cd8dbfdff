"""The command line: typed options, and what is called and shown for them."""
