"""Owns the client of the Agent Client Protocol (ACP): it starts an outside agent, such as Claude Code or Codex, sends
prompts to it, and receives what it says and does.

It must not know our chats: `host/outside` shows in a chat what an agent does. `protocol/acp` has the messages of the
protocol as we send them when we are the agent. Here they are read leniently, because agents differ, and a field that
one of them gets wrong must not end a turn.
"""
