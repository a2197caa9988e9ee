"""Owns the parts of the system prompt, which a model reads first: our texts, `AGENTS.md`, rules and skills.

Each part is a `Section`, which has a text and the name of its source. The room must not know chats. Its neighbour
`host/turn/system_prompt.py` keeps the system prompt of a chat.
"""

from jupyter_eca.instructions.installed_packages import Interpreters
from jupyter_eca.instructions.instruction_context import InstructionContext
from jupyter_eca.instructions.sources import list_sections

__all__ = ["InstructionContext", "Interpreters", "list_sections"]
