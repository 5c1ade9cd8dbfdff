"""The workloads: their data, one run of a job, its checked answer."""
