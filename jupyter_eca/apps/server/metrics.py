"""Counts turns, requests to models and tool calls for Prometheus, on Jupyter's own page `<base_url>metrics`.

The labels are few fixed words: no user, chat, file, prompt or tool is named, and no provider of the user's own
configuration. Importing this module registers the counters, so only a Jupyter server imports it, when the first client
comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter

from jupyter_eca.apps.server.silent_subscriber import SilentSubscriber
from jupyter_eca.protocol.content import ToolCallRejectedContent, ToolCallRunContent, ToolCallRunningContent

if TYPE_CHECKING:
    from jupyter_eca.host.costs.model_caller import EndedRequest
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.event import Event

# The counters on the page. Each has a text that says what it counts, and the names of its labels.
_TURNS: Final = Counter("jupyter_eca_turns", "Turns that have ended, by outcome.", ["outcome"])
_REQUESTS: Final = Counter(
    "jupyter_eca_model_requests",
    "Requests to models that have ended, by provider and outcome.",
    ["provider", "outcome"],
)
_CALLS: Final = Counter(
    "jupyter_eca_tool_calls",
    "Tool calls, by decision: allowed by a rule, approved by a user, or the reason why they did not run.",
    ["decision"],
)


def find_provider_name(host: Host, request: EndedRequest) -> str:
    """Return the name of a request's provider. If the user has chosen the name, which may be private, the name of the
    provider's plug is returned instead."""
    name = request.bill.model.partition("/")[0]
    entry = host.services.catalog.entries().get(name)
    # Only a provider that we know has a label.
    known = entry is not None and entry.label is not None
    return name if known else request.chosen.provider.name


class MetricsCounter(SilentSubscriber):
    """Counts what happens in all chats of a host.

    It is a `Subscriber` of the host, which calls its methods (`host/subscribers.py` describes them). It has no user, no
    kernel and no editor, so it approves nothing and answers no question.
    """

    def __init__(self) -> None:
        # The calls that wait for a user, by their chat and their id.
        self._waiting: set[tuple[str, str]] = set()

    def follow(self, host: Host) -> None:
        """Subscribe to the host."""
        host.connect(self)

        def count_request(request: EndedRequest) -> None:
            """Count a request to a model that has ended."""
            _REQUESTS.labels(find_provider_name(host, request), request.outcome).inc()

        host.model_caller.watchers.append(count_request)

    def show(self, events: list[Event]) -> None:
        """Count turns that have ended, and calls that have begun to run or were rejected."""
        for event in events:
            if event.outcome is not None:
                _TURNS.labels(event.outcome.value).inc()
            match event.content:
                case ToolCallRunContent(manual_approval=True) as call:
                    self._waiting.add((event.chat, call.id))
                case ToolCallRunningContent() as call:
                    is_approved = (event.chat, call.id) in self._waiting
                    self._waiting.discard((event.chat, call.id))
                    _CALLS.labels("approved" if is_approved else "allowed").inc()
                case ToolCallRejectedContent() as call:
                    self._waiting.discard((event.chat, call.id))
                    _CALLS.labels(call.reason.value).inc()
                case _:
                    pass

    def tell(self, notice: Notice) -> None:
        """Do nothing, because a notice is not an event of a chat."""

    def reload_chat(self, reload: ChatReload) -> None:
        """Do nothing, because these events were counted before."""
