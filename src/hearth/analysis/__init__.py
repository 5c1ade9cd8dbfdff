"""Analyse a record or a bare event log: readers, stages, metrics, findings, exports."""
