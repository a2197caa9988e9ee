"""All sources of instructions, in the order in which a model reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.instructions import agentsfiles, environment, rules, skills, words

if TYPE_CHECKING:
    from jupyter_eca.engine.prompt import Section
    from jupyter_eca.instructions.base import Place, Source

SOURCES: Final[tuple[Source, ...]] = (
    words.sections,
    agentsfiles.sections,
    rules.sections,
    skills.sections,
    environment.sections,
    environment.servers,
)


async def sections(place: Place) -> tuple[Section, ...]:
    return tuple([section for source in SOURCES for section in await source(place)])
