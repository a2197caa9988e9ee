"""Asks the user with `input()` to approve a tool call: in a terminal, on the command line, and in a page that draws no
widgets.

It must not send the decision: `questions` and `apps/process.py` do that. `terminal_question` asks other questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.answer.tool_details import describe_call_as_text
from jupyter_eca.apps.kernel.engine.interrupt import handle_interrupts_in_input
from jupyter_eca.engine.text.exact_text import as_terminal_text
from jupyter_eca.transport.eca_client import CallDecision

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.answer.transcript import TranscriptCall


def ask_decision(call: TranscriptCall) -> CallDecision:
    """Ask for a decision about a call. This blocks the event loop until the user has answered. That is acceptable,
    because nothing else can be shown meanwhile.

    Raises: KeyboardInterrupt.
    """
    session = f"yes for this [s]ession ({', '.join(call.remembers)}), " if call.remembers else ""
    description = "\n".join(filter(None, (describe_call_as_text(call.arguments, call.details), call.cause)))
    name = " ".join(call.name.split())
    question = f"\n{name} wants to run:\n{description}\nRun it? [y]es, {session}[n]o, or why not: "
    try:
        with handle_interrupts_in_input():
            answer = input(as_terminal_text(question))
    except EOFError:
        return CallDecision(approved=False)
    match answer.strip().lower():
        case "y" | "yes":
            return CallDecision(approved=True)
        case "s" | "session" if call.remembers:
            return CallDecision(approved=True, session=True)
        case "" | "n" | "no":
            return CallDecision(approved=False)
        case _:
            return CallDecision(approved=False, reason=answer.strip())
