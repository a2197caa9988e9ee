"""Owns chats with outside agents: other programs, such as Claude Code or Codex, that answer in the place of a model.

Such a chat is like all others: the agent's words and calls become inputs of the engine, which makes the events of the
chat from them. `acp_client` talks to the agent. `host.turn.effect_runner` calls this package in the place of a model.
"""
