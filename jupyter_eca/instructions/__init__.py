"""What a model is told before the first word of a chat: the parts of the system prompt, and where each is from."""

from jupyter_eca.instructions.base import InstructionContext
from jupyter_eca.instructions.installed_packages import Interpreters
from jupyter_eca.instructions.sources import sections

__all__ = ["InstructionContext", "Interpreters", "sections"]
