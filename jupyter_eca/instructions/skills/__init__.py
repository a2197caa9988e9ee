"""Skills: folders with a `SKILL.md`, as agentskills.io and ECA (3.7) define them. `find` returns the skills, and `text`
returns one skill as a model reads it.

It knows files only. It does not know which agent may load a skill: `section` and the tool `skill` do.
"""

from jupyter_eca.instructions.skills.model import Skill, SkillOrigin
from jupyter_eca.instructions.skills.registry import SkillRegistry, find
from jupyter_eca.instructions.skills.rendering import file, render, text

__all__ = ["Skill", "SkillOrigin", "SkillRegistry", "file", "find", "render", "text"]
