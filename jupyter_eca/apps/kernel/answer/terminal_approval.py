"""Asks about a tool call by `input()`, where there is only a terminal or a page that draws no widgets. It decides
nothing; `questions` sends the answer. The command line uses it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.answer.exact_text import as_typed_text
from jupyter_eca.apps.kernel.answer.tool_details import plain_about
from jupyter_eca.apps.kernel.engine.interrupt import in_input
from jupyter_eca.transport.eca_client import CallDecision

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.answer.transcript import TranscriptCall


def ask_decision(call: TranscriptCall) -> CallDecision:
    """Ask for a decision about a call. The loop stands still meanwhile: nothing else can be shown, and nothing needs to
    be.

    Raises: KeyboardInterrupt.
    """
    session = f"yes for this [s]ession ({', '.join(call.remembers)}), " if call.remembers else ""
    about = "\n".join(filter(None, (plain_about(call.arguments, call.details), call.why)))
    name = " ".join(call.name.split())
    question = f"\n{name} wants to run:\n{about}\nRun it? [y]es, {session}[n]o, or a reason: "
    try:
        with in_input():
            answer = input(as_typed_text(question))
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
