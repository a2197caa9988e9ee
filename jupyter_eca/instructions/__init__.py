"""Owns the parts of the system prompt, which a model reads first: our texts, `AGENTS.md`, rules and skills.

It must not know chats. `host/turn/system_prompt.py` is its neighbour: it keeps the prompt of a chat.
"""

from jupyter_eca.instructions.base import InstructionContext
from jupyter_eca.instructions.installed_packages import Interpreters
from jupyter_eca.instructions.sources import sections

__all__ = ["InstructionContext", "Interpreters", "sections"]
