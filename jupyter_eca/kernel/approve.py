"""Asking the user about a tool call in the cell: buttons where a page shows them, `input()` elsewhere."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.client import Decision
from jupyter_eca.kernel.interrupt import in_input
from jupyter_eca.kernel.surroundings import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.kernel.screen import Publisher
    from jupyter_eca.kernel.transcript import Call


class Question(Protocol):
    def withdraw(self) -> None:
        """Somebody else answered, or the turn was stopped: leave no button behind."""
        ...


def ask(
    surroundings: Surroundings, publisher: Publisher, call: Call, decided: Callable[[Decision], None]
) -> Question | None:
    """None when the answer has been given already, or when nobody can give one."""
    match surroundings:
        case Surroundings.NOTEBOOK:
            return _Buttons(publisher, call, decided)
        case Surroundings.TERMINAL:
            decided(typed(call))
            return None
        case Surroundings.UNATTENDED:
            return None


def typed(call: Call) -> Decision:
    """The loop stands still meanwhile: nothing else can be shown, and nothing needs to be.

    Raises: KeyboardInterrupt.
    """
    shown = call.arguments.get("code") or call.arguments
    try:
        with in_input():
            answer = input(
                f"\n{call.name} wants to run:\n{shown}\nRun it? [y]es, yes for this [s]ession, [n]o, or a reason: "
            )
    except EOFError:
        return Decision(approved=False)
    match answer.strip().lower():
        case "y" | "yes":
            return Decision(approved=True)
        case "s" | "session":
            return Decision(approved=True, session=True)
        case "" | "n" | "no":
            return Decision(approved=False)
        case _:
            return Decision(approved=False, reason=answer.strip())


class _Buttons:
    """A row of buttons in an output of its own; once answered, that output is emptied: nothing dead is saved."""

    def __init__(self, publisher: Publisher, call: Call, decided: Callable[[Decision], None]) -> None:
        widgets: Any = importlib.import_module("ipywidgets")  # half a second, and it ships no types
        self._decided = decided
        self._loop = asyncio.get_running_loop()
        self._publisher = publisher
        self._display_id = f"eca-ask-{call.id}"
        self._reason = widgets.Text(placeholder="Why not? (optional, the assistant reads it)")
        approve = widgets.Button(description="Approve", button_style="success", tooltip=f"Run {call.name} once")
        session = widgets.Button(
            description="Approve for this session", tooltip=f"Do not ask again for {call.name} in this chat"
        )
        reject = widgets.Button(description="Reject", button_style="danger", tooltip=f"Do not run {call.name}")
        session.layout.width = "auto"
        for part in (approve, session, reject, self._reason):
            part.layout.flex = "0 0 auto"
        for button, approved, remember in ((approve, True, False), (session, True, True), (reject, False, False)):
            button.on_click(self._answer(approved=approved, session=remember))
        # In a narrow notebook the row wraps: a shrunk button could not say what it approves.
        row = widgets.Layout(flex_flow="row wrap")
        self._box = widgets.HBox([approve, session, reject, self._reason], layout=row)
        data = {
            "application/vnd.jupyter.widget-view+json": {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self._box.model_id,
            },
            "text/plain": f"{call.name} waits for approval",
        }
        publisher.publish(data, transient={"display_id": self._display_id})

    def _answer(self, *, approved: bool, session: bool) -> Callable[[object], None]:
        def clicked(_button: object) -> None:
            decision = Decision(approved, session, "" if approved else str(self._reason.value))
            # On ipykernel before 7.4 a click arrives on a thread of its own.
            self._loop.call_soon_threadsafe(self._decided, decision)

        return clicked

    def withdraw(self) -> None:
        self._publisher.publish({"text/plain": ""}, transient={"display_id": self._display_id}, update=True)
        self._box.close()
