"""The skills there are, by name and description. What they say is loaded when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.engine.approval.policy import Decision, decide, hidden
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import skills
from jupyter_eca.plugins.tools.skill import skill as tool

if TYPE_CHECKING:
    from jupyter_eca.instructions.base import Place

_HEAD = """Skills are instructions for one kind of work. When one of these fits what you are asked to do, load it with \
the tool `skill` before you begin, and follow it:"""


async def sections(place: Place) -> tuple[Section, ...]:
    """Sorted by name, so that the same skills give the same bytes. Without those that the rules deny (ECA's
    `argsMatchers` for `name`)."""
    agent = place.agent
    if hidden(agent.policy, tool.spec) or not agent.has(tool.spec, reads=tool.reads):
        return ()
    lines = [
        f"- {one.name}: {one.description}"
        for one in await skills.find(place.files, place.config, place.warn)
        if decide(agent.policy, tool.spec, {"name": one.name}, frozenset()).decision is not Decision.DENY
    ]
    return (Section("Skills", "\n".join([_HEAD, *lines])),) if lines else ()
