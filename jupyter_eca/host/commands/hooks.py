"""What the user's hooks are: `/hooks`."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Final

from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.host.hooks import HookType

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.host.hooks import Hook, RejectedHook


async def hooks(place: CommandPlace, _called: CommandCall) -> CommandAnswer:
    """What they run is not shown: a line may hold a key."""
    found, refused = place.host.hooks.all
    if not (found or refused):
        return CommandAnswer("There are no hooks. The key `hooks` of the configuration has them.")
    order = list(HookType)
    lines: list[str] = []
    for type, of_type in groupby(sorted(found, key=lambda hook: order.index(hook.type)), key=lambda hook: hook.type):
        lines += [f"**{type}**", "", *map(_line, of_type), ""]
    if refused:
        lines += ["**Not in force**", "", *map(_describe_refused, refused)]
    return CommandAnswer("\n".join(lines).rstrip())


def _line(hook: Hook) -> str:
    parts = [f"- `{hook.name}`"]
    if hook.description:
        parts.append(f": {hook.description}")
    if hook.matcher is not None:
        parts.append(f"; matcher `{_matcher(hook)}`")
    if not hook.visible:
        parts.append("; runs unseen")
    if hook.source:
        parts.append(f"; from `{hook.source}`")
    return "".join(parts)


def _matcher(hook: Hook) -> str:
    if isinstance(hook.matcher, str) or hook.matcher is None:
        return hook.matcher or ""
    written = hook.model_dump(mode="json", by_alias=True, include={"matcher"})
    return json.dumps(written["matcher"], ensure_ascii=False)


def _describe_refused(refused: RejectedHook) -> str:
    return f"- `{refused.name}`: {refused.why}{f'; from `{refused.source}`' if refused.source else ''}"


COMMANDS: Final = {
    "hooks": NativeCommand(hooks, "List the hooks there are, where each is from, and whether it is in force"),
}
