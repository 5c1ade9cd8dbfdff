"""Run jobs on masters, repeated and interleaved."""
