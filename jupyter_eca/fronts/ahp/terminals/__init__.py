"""Owns the terminals of the Agent Host Protocol."""
