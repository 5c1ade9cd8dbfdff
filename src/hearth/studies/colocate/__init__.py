"""Divide a machine between applications that run at the same time."""
