"""The commands about the settings: `/model`, `/config`, `/doctor` and `/help`. `host.doctor` writes the report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.config.masking import mask_secrets
from jupyter_eca.engine.chat.export import add_fence
from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand, find_outside_agent
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.protocol.command import CommandArgument
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def model(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Show or choose the model of the chat. Raises: ProviderError when no provider has the name."""
    host = place.host
    if (outside := await find_outside_agent(place)) is not None:
        return CommandAnswer(_OWN_MODEL.format(title=outside.title))
    models = await host.catalog.models()
    if not call.text:
        current = await host.turns.get_model(place.chat)
        lines = [f"- `{name}`{' (in use)' if name == current else ''}" for name in models]
        head = f"The model of this chat is `{current}`." if current else "This chat has no model."
        return CommandAnswer("\n".join([f"{head} `/model PROVIDER/MODEL` chooses another.", "", *lines]))
    # The provider may be left out.
    name = next((model for model in models if model.partition("/")[2] == call.text), call.text)
    host.catalog.choose(name)
    await host.chats.load(place.chat)
    host.turns.choose(place.chat, Choice(model=name))
    selected = ConfigUpdatedParams(chat=ChatConfig(select_model=name), chat_id=place.chat)
    host.subscribers.tell(Notice("config/updated", selected, place.chat))
    unlisted = "" if name in models else " It is not among those that are listed; it is tried anyway."
    return CommandAnswer(f"Answers in this chat come from `{name}` now.{unlisted}")


_OWN_MODEL: Final = (
    "{title} answers in this chat, and chooses its model itself. `/options` shows its model, if it says which one it "
    "is, and sets another."
)


async def config(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show the configuration. Keys are hidden."""
    settings = place.host.config
    sources = "\n".join(f"- `{source}`" for source in settings.sources) or "No file: these are the defaults."
    shown = mask_secrets(settings.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"sources"}))
    text = redaction.redact(json.dumps(shown, indent=2, ensure_ascii=False))
    return CommandAnswer(f"The configuration that holds. It was read from:\n\n{sources}\n\n{add_fence(text, 'json')}")


async def doctor(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show what is set up and what is missing."""
    from jupyter_eca.host.doctor import report  # imported here because it needs 1.3 MiB, and few users call it

    return CommandAnswer(await report(place.host.services, "in the process that serves this chat"))


async def help(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """List all commands."""
    from jupyter_eca.host.commands.dispatch import list_commands  # imported here, because it loads this module

    lines = [
        f"- `/{' '.join([command.name, *(f'[{arg.name}]' for arg in command.arguments)])}`: {command.description}"
        for command in await list_commands(place.host)
    ]
    return CommandAnswer("\n".join(lines))


COMMANDS: Final = {
    "model": NativeCommand(
        model,
        "Show or choose the model of this chat",
        (CommandArgument(name="name", description="PROVIDER/MODEL"),),
    ),
    "config": NativeCommand(config, "Show the configuration that holds, and the files it is from"),
    "doctor": NativeCommand(doctor, "Show a report: what is set up, what is missing, and what to do about it"),
    "help": NativeCommand(help, "List the commands"),
}
