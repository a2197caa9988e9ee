"""What a chat weighs and costs: `/costs`, `/context`, `/compact`, `/prompt-show`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.commands.base import Answer, Compaction
from jupyter_eca.commands.secrets import masked
from jupyter_eca.engine.exporting import fenced
from jupyter_eca.engine.window import breakdown, drawn
from jupyter_eca.protocol.content import UsageContent
from jupyter_eca.providers.base import ShowsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.commands.base import Command, Place
    from jupyter_eca.engine.commands import Called
    from jupyter_eca.engine.spec import ModelRequest
    from jupyter_eca.host import Host
    from jupyter_eca.protocol.event import Event

# What is said to the model is shown word for word; of these only the rest could hold a key.
_SAID = frozenset({"system", "messages", "tools"})
# Longer base64 is an image, which nobody reads.
_DATA_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Total:
    """`cost` leaves out the answers whose price is not known; `unpriced` counts them."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float
    unpriced: int

    @staticmethod
    def of(usages: Iterable[UsageContent]) -> _Total:
        all = list(usages)
        costs = [usage.last_message_cost for usage in all]
        return _Total(
            len(all),
            sum(usage.message_input_tokens for usage in all),
            sum(usage.message_output_tokens for usage in all),
            sum(float(cost) for cost in costs if cost is not None),
            costs.count(None),
        )

    def row(self, name: str) -> str:
        cost = "unknown" if self.requests and self.unpriced == self.requests else f"{self.cost:.4f} USD"
        more = " and more" if 0 < self.unpriced < self.requests else ""
        return f"| {name} | {self.requests} | {self.tokens_in:,} | {self.tokens_out:,} | {cost}{more} |"


def _usages(events: Iterable[Event], since: int = 0) -> list[UsageContent]:
    return [event.content for event in events if event.at >= since and isinstance(event.content, UsageContent)]


async def costs(place: Place, _called: Called) -> Answer:
    host = place.host
    chat = _usages(await host.stored(place.chat))
    session: list[UsageContent] = []
    for row in await host.chats():
        if row.updated >= host.started and place.sees(row.id):
            session += _usages(await host.stored(row.id), host.started)
    rows = [_Total.of(chat).row("this chat"), _Total.of(session).row("this session")]
    head = ["| | requests | tokens in | tokens out | cost |", "|---|---:|---:|---:|---:|"]
    return Answer("\n".join([*head, *rows]))


async def context(place: Place, _called: Called) -> Answer:
    usages = _usages(await place.host.stored(place.chat))
    request = await place.host.draft(place.chat, kernel=place.kernel)
    return Answer(drawn(breakdown(request, usages[-1] if usages else None)))


async def compact(place: Place, called: Called) -> Compaction:  # noqa: ARG001  # the same for every place
    return Compaction(called.text)


async def prompt_show(place: Place, called: Called) -> Answer:
    """Raises: ProviderError when there is no model to ask."""
    request = await place.host.draft(place.chat, called.text, place.kernel)
    body = _body(place.host, request)
    text = json.dumps(body, indent=2, ensure_ascii=False, default=str)
    return Answer(f"What `{request.model}` would be sent:\n\n{fenced(text, 'json')}")


def _body(host: Host, request: ModelRequest) -> dict[str, Any]:
    chosen = host.catalog.choose(request.model)
    if isinstance(chosen.provider, ShowsRequest):
        body = chosen.provider.request_body(chosen.model, request, chosen.settings)
    else:
        body = asdict(request)
    return {name: _short(value) if name in _SAID else masked(value, name) for name, value in body.items()}


def _short(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {key: _short(item, key) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_short(item, name) for item in cast("list[Any]", value)]
        case str() if name in {"data", "base64"} and len(value) > _DATA_CHARS:
            return f"{value[:20]}… ({len(value):,} characters)"
        case _:
            return value


COMMANDS: Final[dict[str, Command]] = {
    "costs": costs,
    "context": context,
    "compact": compact,
    "prompt-show": prompt_show,
}
