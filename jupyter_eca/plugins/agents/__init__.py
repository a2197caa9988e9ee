"""Owns the outside agents that are known: one module for each, which exports `AGENT`. The configuration (`acpAgents`)
changes them and adds others. An entry point of the group `jupyter_eca.agents` adds one too.
"""
