"""Skills: folders with a `SKILL.md`, as agentskills.io and ECA (3.7) have them. `find` them, `text` for a model.

Knows files only: not which agent may load one, nor how a model is told of them.
"""

from jupyter_eca.instructions.skills.model import Origin, Skill
from jupyter_eca.instructions.skills.registry import Shelf, find
from jupyter_eca.instructions.skills.rendering import file, filled, text

__all__ = ["Origin", "Shelf", "Skill", "file", "filled", "find", "text"]
