"""A plan in the words of the systems that start executors on a cluster."""

CLUSTERS = ("kubernetes", "yarn", "standalone")
