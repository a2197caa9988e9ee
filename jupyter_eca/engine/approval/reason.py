"""Owns the sentence that says why a call was allowed, needs approval or was denied. The user and the model read it.

It must not decide anything: its neighbour `policy` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.policy import Decision

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import Cause

_DONE: Final = {Decision.ALLOW: "Allowed", Decision.ASK: "Asked", Decision.DENY: "Forbidden"}


def describe_cause(decision: Decision, cause: Cause | None) -> str:
    """Return the reason for a decision, as a sentence without its full stop; "" when no policy decided."""
    if cause is None:
        return ""
    rule = f"the rule `{cause.rule}`"
    of_agent = f" of the agent `{cause.agent}`" if cause.agent else ""
    match cause.kind:
        case "rule":
            return f"{_DONE[decision]} by {rule}{of_agent} (`toolCall.approval.{decision}`)"
        case "remembered":
            return "Allowed: you have approved it for this session"
        case "protected":
            return f"Asked: this changes what may run without asking (`{cause.path}`)"
        case "unparsed":
            return f"Asked: it is not certain what the command line runs, and {rule} forbids some commands"
        case "changed":
            return "Asked: its server has changed this tool since you approved it for this session"
        case "trust":
            would = f"{rule}{of_agent} would ask" if cause.rule else "nothing else allows it"
            return f"Allowed by trust: {would}"
        case "default":
            return f"{_DONE[decision]}: no rule is about it (`byDefault`{of_agent}: {decision})"
