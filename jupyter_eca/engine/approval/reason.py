"""Owns the sentence that says why a call was allowed, needs approval or was denied. The user and the model read it.

It must not decide anything: its neighbour `policy` does. `Cause.kind` explains the kinds of causes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.policy import Decision

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import Cause

# The beginning of the sentence, by the decision.
_VERBS: Final = {Decision.ALLOW: "Allowed", Decision.ASK: "Asked", Decision.DENY: "Forbidden"}


def describe_warning(cause: Cause) -> str:
    """Return what the user must know before approving a call, as a sentence without its full stop; "" for nothing."""
    match cause.kind:
        case "protected":
            return f"This changes what may run without asking (`{cause.path}`)"
        case "loads":
            return f"As soon as the cell is shown, the page loads `{cause.loads}`"
        case "unparsed":
            return f"It is not certain what the command line runs, and the rule `{cause.rule}` limits some commands"
        case "always":
            return f"The rule `{cause.rule}` asks each time"
        case "unseen":
            return f"This may run what was changed without your approval (`{cause.path}`)"
        case "repository":
            return f"This repository makes git run a program (`{cause.path}`)"
        case "changed":
            return "Its server has changed this tool since you approved it for this session"
        case _:
            return ""


def add_warning(summary: str, cause: Cause | None) -> str:
    """Return the summary of a call that needs approval, with the warning before it. For clients that do not show the
    cause."""
    warning = describe_warning(cause) if cause else ""
    return f"{warning}: {summary}" if warning else summary


def describe_cause(decision: Decision, cause: Cause | None) -> str:
    """Return the reason for a decision, as a sentence without its full stop; "" when no policy decided."""
    if cause is None:
        return ""
    rule = f"the rule `{cause.rule}`"
    of_owner = f" of the agent `{cause.agent}`" if cause.agent else ""
    of_owner = f" of the notebook `{cause.notebook}`" if cause.notebook else of_owner
    match cause.kind:
        case "rule" if cause.notebook:  # such a rule is in no configuration file
            return f"{_VERBS[decision]} by {rule}{of_owner}"
        case "rule":
            return f"{_VERBS[decision]} by {rule}{of_owner} (`toolCall.approval.{decision}`)"
        case "remembered":
            return "Allowed: you have approved it for this session"
        case "review":
            return f"Allowed: the change can be undone (`review: {cause.rule}`)"
        case "always" | "protected" | "loads" | "unparsed" | "changed" | "unseen" | "repository":
            warning = describe_warning(cause)
            return f"Asked: {warning[:1].lower()}{warning[1:]}"
        case "sandbox":
            return "Allowed: it runs in the sandbox (`toolCall.sandbox`)"
        case "trust":
            would = f"{rule}{of_owner} would ask" if cause.rule else "nothing else allows it"
            return f"Allowed by trust: {would}"
        case "unasked":
            return f"Not asked: {cause.agent or 'the agent'} ran this without asking"
        case "default":
            return f"{_VERBS[decision]}: no rule matches it (`byDefault`{of_owner}: {decision})"
