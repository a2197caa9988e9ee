"""Owns the checkpoints: files and cells are kept as they are before a tool changes them, and can be restored."""
