"""Owns the outside agents that are known: one module for each, which exports `AGENT`. An outside agent is another
program, such as Codex, that answers in our chats. It speaks the Agent Client Protocol (ACP). A module says how the
program is started, and what the user reads if it is not installed or nobody is signed in.

The configuration (`acpAgents`) changes these agents and adds others. An entry point of the group `jupyter_eca.agents`
adds one, too.
"""
