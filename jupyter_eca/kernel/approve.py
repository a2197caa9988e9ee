"""Asking the user about a tool call in the cell: buttons where a page shows them, `input()` elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.client import Decision
from jupyter_eca.kernel.details import plain_about
from jupyter_eca.kernel.interrupt import in_input
from jupyter_eca.kernel.row import Row, toolkit
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
            return _buttons(publisher, call, decided)
        case Surroundings.TERMINAL:
            decided(typed(call))
            return None
        case Surroundings.UNATTENDED:
            return None


def typed(call: Call) -> Decision:
    """The loop stands still meanwhile: nothing else can be shown, and nothing needs to be.

    Raises: KeyboardInterrupt.
    """
    shown = plain_about(call.arguments, call.details)
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


def _buttons(publisher: Publisher, call: Call, decided: Callable[[Decision], None]) -> Row:
    widgets = toolkit()
    loop = asyncio.get_running_loop()
    reason = widgets.Text(placeholder="Why not? (optional, the assistant reads it)")

    def button(name: str, tooltip: str, *, approved: bool, session: bool = False, style: str = "") -> Any:
        made = widgets.Button(description=name, tooltip=tooltip, button_style=style)

        def clicked(_button: object) -> None:
            decision = Decision(approved, session, "" if approved else str(reason.value))
            # On ipykernel before 7.4 a click arrives on a thread of its own.
            loop.call_soon_threadsafe(decided, decision)

        made.on_click(clicked)
        return made

    approve = button("Approve", f"Run {call.name} once", approved=True, style="success")
    always = button(
        "Approve for this session", f"Do not ask again for {call.name} in this chat", approved=True, session=True
    )
    always.layout.width = "auto"
    reject = button("Reject", f"Do not run {call.name}", approved=False, style="danger")
    return Row(publisher, f"eca-ask-{call.id}", (approve, always, reject, reason), f"{call.name} waits for approval")
