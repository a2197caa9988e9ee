"""What a model is told before the first word of a chat: the parts of the system prompt, and where each is from."""

from jupyter_eca.instructions.base import Place
from jupyter_eca.instructions.gathering import sections
from jupyter_eca.instructions.interpreters import Interpreters

__all__ = ["Interpreters", "Place", "sections"]
