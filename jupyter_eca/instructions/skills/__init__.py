"""Skills: folders with a `SKILL.md`, as agentskills.io and ECA (3.7) have them. `find` them, `text` for a model.

Knows files only: not which agent may load one, nor how a model is told of them.
"""

from jupyter_eca.instructions.skills.model import Skill, SkillOrigin
from jupyter_eca.instructions.skills.registry import SkillRegistry, find
from jupyter_eca.instructions.skills.rendering import file, render, text

__all__ = ["Skill", "SkillOrigin", "SkillRegistry", "file", "find", "render", "text"]
