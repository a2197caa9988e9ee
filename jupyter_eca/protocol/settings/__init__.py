"""Owns the messages of settings pages about files that the user writes for the assistant.

It must not open a file. The messages about single settings are in `protocol.lifecycle` and `protocol.approval`.
"""
