"""What a record, or a bare event log, says: readers, stages, metrics, findings, exports."""
