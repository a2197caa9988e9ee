"""Lists all sources of instructions, in the order in which a model reads them. Each source is a module beside this one.

It must not keep the result: the host stores it with the chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.instructions import agents_md, environment, prompt_texts, rules
from jupyter_eca.instructions.skills import section as skills

if TYPE_CHECKING:
    from jupyter_eca.engine.model.texts import Section
    from jupyter_eca.instructions.instruction_context import InstructionContext, Source

SOURCES: Final[tuple[Source, ...]] = (
    prompt_texts.list_sections,
    agents_md.list_sections,
    rules.list_sections,
    skills.list_sections,
    environment.list_sections,
    environment.list_server_sections,
)


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return the sections of all sources, which are the system prompt of a chat."""
    return tuple([section for source in SOURCES for section in await source(context)])
