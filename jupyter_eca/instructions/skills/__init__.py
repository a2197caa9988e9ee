"""Owns the skills. A skill is a folder with a file `SKILL.md`, which has instructions for one kind of work. The format
is that of agentskills.io and ECA (3.7). `find` returns the skills, and `format_skill` returns one skill as a model
reads it.

The modules know only files. They must not decide which agent may load a skill: `section.py` and the tool `skill` do.
"""

from jupyter_eca.instructions.skills.registry import SkillRegistry, find, read_all
from jupyter_eca.instructions.skills.rendering import format_skill, read_skill_file, render_body
from jupyter_eca.instructions.skills.skill_file import Skill, SkillOrigin

__all__ = [
    "Skill",
    "SkillOrigin",
    "SkillRegistry",
    "find",
    "format_skill",
    "read_all",
    "read_skill_file",
    "render_body",
]
