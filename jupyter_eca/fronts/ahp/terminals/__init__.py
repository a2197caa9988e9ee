"""Terminals of the Agent Host Protocol."""
