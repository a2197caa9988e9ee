"""The command `/notebook`: lets the model make a new notebook from a description. The model shows an outline first, and
writes the notebook when the user agrees.

It must not make a file itself: the model does, with the tool `notebook_create`, and the user approves that as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.instructions.prompt_texts import read_prompt
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.chat.ports import CommandResult
    from jupyter_eca.host.commands.base import CommandPlace

_NO_PURPOSE: Final = (
    "Say what the notebook is for, such as `/notebook compare last year's sales by region, from sales.csv`. An outline "
    "comes first."
)


async def make_notebook(_place: CommandPlace, call: CommandCall) -> CommandResult:
    """Return the message that the model gets: the rules for a new notebook, and what the user wants."""
    if not call.text.strip():
        return CommandAnswer(_NO_PURPOSE)
    # Not a template of `instructions.template`: the user's text may contain its brackets.
    return CommandReplacement(read_prompt("new_notebook").replace("{{purpose}}", call.text.strip()))


COMMANDS: Final = {
    "notebook": NativeCommand(
        make_notebook,
        "Make a new notebook from a description: you see an outline first",
        (CommandArgument(name="purpose", description="what the notebook is for", required=True),),
        may_ask_model=True,
    )
}
