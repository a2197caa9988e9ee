"""Owns the migration of the asides that version 0.1.0 has stored.

An aside is what an event has besides its content, such as a note for the model. Version 0.1.0 stored it as a plain
sentence, and the program recognized its kind by the wording. Today an aside is JSON with a `kind`
(`protocol.event.Aside`), for example `{"kind": "note", "text": "..."}`. The functions here call this object a mark.

This module must not import the sentences of today: they may change, but those of 0.1.0 may not. `schema` calls it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import unquote

# The sentences of version 0.1.0, and the kinds that they mean.
_REWORDED: Final = "A hook has reworded the prompt"
_NOTES_SENT: Final = "Read what has ended in the background"
_KINDS: Final = {
    "(The last prompt was not let through.)": "withdrawn",
    "(An image stood here. It was refused, so it is no longer sent.)": "imagesRefused",
    "The request was too long for the model: the older results of tools are left out of it from now on.": "pruned",
}
_SUMMARY: Final = "(A summary of the conversation until now, made because it had become too long.)\n\n"
_DOCUMENT: Final = re.compile(r"data:application/pdf;name=([^;,]*);base64,(.*)", re.DOTALL)
_RULE: Final = "Rule "
_REJECTED: Final = {
    "user-choice": "The user rejected this call. It did not run; nothing was changed.",
    "user-config": "The user's rules forbid this call. It did not run; nothing was changed. Do not try it again.",
    "user-stop": "The user stopped the turn before this call ran. Nothing was changed.",
    "nobody-to-ask": "This call needs approval and nobody is there to give it. It did not run; nothing changed.",
    "hook-rejected": "A hook of the user's forbids this call. It did not run; nothing was changed.",
}


def mark_aside(turn: str, role: str, content: str, aside: str) -> str:
    """Return an aside of version 0.1.0 as JSON with its kind, "" for none. The migration calls this as an SQL function.

    `turn`, `role`, `content` and `aside` are the columns of an event.
    """
    mark = _make_mark(turn, role, json.loads(content), aside)
    return json.dumps(mark, ensure_ascii=False, separators=(",", ":")) if mark else ""


def _make_mark(turn: str, role: str, content: dict[str, Any], aside: str) -> dict[str, str] | None:
    """Return the new aside of an event, None for none. The type of the content and the role show what it was for."""
    match content["type"], role:
        case "toolCalled", _:
            return _mark_result(content)
        case _ if not aside:
            return None
        # A vendor's signature of a thought or of a call.
        case (("reasonFinished" | "toolCallRun"), _):
            return {"kind": "signature", "signature": aside}
        case "toolCallRejected", _:
            words = aside.removeprefix(_REJECTED.get(content["reason"], "")).strip()
            return {"kind": "rejection", "text": aside, "words": words}
        case "progress", "user":
            return _mark_material(content.get("text", ""), aside)
        case "text", "user":
            return {"kind": "context", "text": aside}
        case "text", "system":
            return _mark_remark(turn, aside)
        case _:
            return None


def _mark_result(content: dict[str, Any]) -> dict[str, str] | None:
    """Return the mark of a tool result that has the text of a rule; None for any other result. `content` is that of the
    event."""
    text = "".join(output["text"] for output in content["outputs"])
    if content["name"] != "fetch_rule" or content.get("error") or not text.startswith(_RULE):
        return None
    return {"kind": "fetchedRule", "id": str(content.get("arguments", {}).get("id"))}


def _mark_material(shown: str, aside: str) -> dict[str, str]:
    """Return the mark of a text that the model got with a prompt. `shown` is the line that the user saw of it."""
    if shown == _REWORDED:
        return {"kind": "reworded", "text": aside}
    if shown == _NOTES_SENT:
        return {"kind": "notesSent", "text": aside}
    if document := _DOCUMENT.fullmatch(aside):
        return {"kind": "document", "name": unquote(document[1]), "base64": document[2]}
    return {"kind": "context", "text": aside}


def _mark_remark(turn: str, aside: str) -> dict[str, str] | None:
    """Return the mark of a remark to the user that the model got too; None for a remark without a mark."""
    if kind := _KINDS.get(aside):
        return {"kind": kind}
    if aside.startswith(_SUMMARY):
        return {"kind": "summary", "text": aside}
    # Only an event outside of all turns is a note.
    return None if turn else {"kind": "note", "text": aside}
