"""The command `/hooks`, which lists the user's hooks: programs that run at certain moments of a chat, for example
before each tool call. `host.hooks` runs them."""

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


async def hooks(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """List the hooks by type. Their commands are not shown, because a command line may contain a key."""
    resolved = place.host.current.resolved
    valid, rejected = resolved.hooks, resolved.rejected_hooks
    if not (valid or rejected):
        return CommandAnswer("There are no hooks. The key `hooks` of the configuration has them.")
    order = list(HookType)
    lines: list[str] = []
    for type, group in groupby(sorted(valid, key=lambda hook: order.index(hook.type)), key=lambda hook: hook.type):
        lines += [f"**{type}**", "", *map(_describe, group), ""]
    if rejected:
        lines += ["**Ignored because of an error**", "", *map(_describe_rejected, rejected)]
    return CommandAnswer("\n".join(lines).rstrip())


def _describe(hook: Hook) -> str:
    """Return the line of a hook. Its matcher selects the tool calls that it runs for."""
    parts = [f"- `{hook.name}`"]
    if hook.description:
        parts.append(f": {hook.description}")
    if hook.matcher is not None:
        parts.append(f"; matcher `{_format_matcher(hook)}`")
    if not hook.visible:
        parts.append("; not shown in the chat")
    if hook.source:
        parts.append(f"; from `{hook.source}`")
    return "".join(parts)


def _format_matcher(hook: Hook) -> str:
    """Return the matcher of a hook as it is in the configuration."""
    if isinstance(hook.matcher, str) or hook.matcher is None:
        return hook.matcher or ""
    dumped = hook.model_dump(mode="json", by_alias=True, include={"matcher"})
    return json.dumps(dumped["matcher"], ensure_ascii=False)


def _describe_rejected(rejected: RejectedHook) -> str:
    """Return the line of a hook that is ignored because of an error."""
    return f"- `{rejected.name}`: {rejected.why}{f'; from `{rejected.source}`' if rejected.source else ''}"


COMMANDS: Final = {
    "hooks": NativeCommand(hooks, "List the hooks, the file that each is from, and those that are ignored"),
}
