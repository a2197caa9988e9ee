"""Faults on real processes and real files: see README.md."""
