"""A question to the user as an input request of a session: any of its clients may answer."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, items, present, record
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from jupyter_eca.protocol.question import ChatAskQuestionParams

_ONE: Final = "answer"


def request(question: ChatAskQuestionParams) -> Json:
    """One question: with options one is chosen, else it is answered in words."""
    about: Json = {"id": _ONE, "message": question.question, "required": True}
    if question.options:
        options = [
            present(id=str(at), label=one.label, description=one.description)
            for at, one in enumerate(question.options, 1)
        ]
        kind = {"kind": "single-select", "options": options, "allowFreeformInput": question.allow_freeform}
    else:
        kind = {"kind": "text"}
    return {"id": uuid.uuid4().hex, "message": question.question, "questions": [{**about, **kind}]}


def answer(request: Json, response: str, final: Json) -> ChatAskQuestionResult:
    """What a client made of it; answers that came with the last word stand over drafts."""
    if response != "accept":
        return ChatAskQuestionResult(cancelled=True)
    given: Json = record({**record(request, "answers"), **final}, _ONE)
    value = record(given, "value")
    said = [str(one) for one in value.get("freeformValues") or ()]
    if not said and "value" in value:
        options = {one["id"]: one["label"] for one in items(items(request, "questions")[0], "options")}
        said = [str(options.get(value["value"], value["value"]))]
    return ChatAskQuestionResult(answer=", ".join(said), cancelled=not said)
