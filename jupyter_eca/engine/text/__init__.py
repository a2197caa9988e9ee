"""Parses text that people write: mentions, slash commands and shell templates.

It must not carry out what the text asks for: `host` and `plugins` do.
"""
