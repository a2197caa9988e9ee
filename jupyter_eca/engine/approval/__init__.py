"""Decides whether a tool call runs, needs approval or is denied, and says why.

It must not run a call or ask the user. Its neighbour `engine/tool_calls` carries the decisions out.
"""
