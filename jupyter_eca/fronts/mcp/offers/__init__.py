"""Owns what the assistant offers over MCP (Model Context Protocol) besides its native tools: further tools, resources
and prompts. Each module owns one subject, and exports its `OFFERS`.

The docstring of an offered tool is its description for the client's model. `../offers_base.py` has the parts of an
offer, and `../assistant.py` runs the tools.
"""
