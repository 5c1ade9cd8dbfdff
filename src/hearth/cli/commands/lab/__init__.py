"""Experiment: benchmark workloads, published studies, models, network threads."""
