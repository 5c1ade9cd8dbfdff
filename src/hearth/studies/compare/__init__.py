"""Hold ways to run one application against each other."""
