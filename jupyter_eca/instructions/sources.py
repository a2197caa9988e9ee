"""Lists all sources of instructions, in the order in which a model reads them. Each source is a module beside this one.
It keeps nothing: the host stores the result for the life of a chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.instructions import agents_md, environment, prompt_texts, rules
from jupyter_eca.instructions.skills import section as skills

if TYPE_CHECKING:
    from jupyter_eca.engine.model.texts import Section
    from jupyter_eca.instructions.base import InstructionContext, Source

SOURCES: Final[tuple[Source, ...]] = (
    prompt_texts.sections,
    agents_md.sections,
    rules.sections,
    skills.sections,
    environment.sections,
    environment.servers,
)


async def sections(context: InstructionContext) -> tuple[Section, ...]:
    return tuple([section for source in SOURCES for section in await source(context)])
