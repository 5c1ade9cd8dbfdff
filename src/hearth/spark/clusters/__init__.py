"""A plan in the words of the systems that start executors on a cluster."""

CLUSTERS = ("kubernetes", "yarn", "standalone")
#: One job on such a machine.
JOBS = ("sbatch", "sparkapp")
