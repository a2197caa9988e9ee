"""The instructions that a model gets before the first message of a chat: the sections of the system prompt.

It owns the sources of these sections. It knows no chat: `host.turn.system_prompt` decides when they are collected.
"""

from jupyter_eca.instructions.base import InstructionContext
from jupyter_eca.instructions.installed_packages import Interpreters
from jupyter_eca.instructions.sources import sections

__all__ = ["InstructionContext", "Interpreters", "sections"]
