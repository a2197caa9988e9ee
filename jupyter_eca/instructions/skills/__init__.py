"""Owns the skills: folders with a `SKILL.md`, as agentskills.io and ECA (3.7) define them. `find` returns the skills,
and `format_skill` returns one skill as a model reads it.

The modules know only files. They must not decide which agent may load a skill: `section.py` and the tool `skill` do.
"""

from jupyter_eca.instructions.skills.registry import SkillRegistry, find
from jupyter_eca.instructions.skills.rendering import format_skill, read_skill_file, render_body
from jupyter_eca.instructions.skills.skill_file import Skill, SkillOrigin

__all__ = ["Skill", "SkillOrigin", "SkillRegistry", "find", "format_skill", "read_skill_file", "render_body"]
