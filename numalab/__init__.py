"""numa-lab: NUMA machines emulated in software, and cases that run inside them.

A shape (`shapes/NAME.toml`) is one machine; a case (`cases/NAME.py`) is what runs inside it. The
guest only collects evidence; judging is done outside, on the raw text that the guest's kernel gave.
"""
