"""Another provider in mid-chat, between all pairs of languages: what only the first can read stays with the first."""

from __future__ import annotations

import base64
import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.modalities import IMAGE_PLACEHOLDER, PDF_PLACEHOLDER
from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol.context import FileContext, ImageContext
from tests.host.faults.vendor import shows
from tests.plugins.providers.dialects.speaking import DIALECTS, Speaking
from tests.requirements.eca.seat import ALLOW_ALL
from tests.support.host_and_client import answer, desk, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4////fwAJ+wP9KobjigAAAABJRU5ErkJggg=="
PICTURE = ImageContext(media_type="image/png", base64=PIXEL)
PDF = b"%PDF-1.4\n% a page with a figure\n%%EOF\n"

LOOK = {"tool": "directory_tree", "arguments": {"path": "."}}
STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"reasoning": "Now I know."}, {"text": "I looked."}]},
    {"message": "", "reply": [{"reasoning": "I must look."}, {"text": "Let me look."}, LOOK, LOOK]},
]


def story() -> Script:
    return Script.model_validate({"rules": STORY})


@pytest.mark.parametrize(("first", "second"), [*permutations(DIALECTS, 2), ("messages", "messages")])
async def test_a_chat_goes_on_with_another_provider_and_back(tmp_path: Path, first: str, second: str) -> None:
    with Speaking(first, story()) as one, Speaking(second, story()) as other:
        providers = {"one": one.provider(), "other": other.provider()}
        async with desk(tmp_path, [], providers=providers, toolCall=ALLOW_ALL, defaultModel="one/m") as table:
            (tmp_path / "paper.pdf").write_bytes(PDF)
            client = await table.client()
            await shows(client, "see @paper.pdf", PICTURE, FileContext(path="paper.pdf"))
            for message, model in (("and?", "other/m"), ("and now?", "one/m")):
                received = await answer(client, message, model=model)
                assert (outcomes(received), said(received)) == (["completed"], "Let me look.I looked.")
    assert (one.refused, other.refused) == ([], [])
    assert (len(one.bodies), len(other.bodies)) == (4, 2)
    theirs, back = json.dumps(other.bodies[0]), json.dumps(one.bodies[-1])
    # Pictures and documents are put in the other's words; of thoughts each has its own again, and only those.
    for body in (theirs, back):
        assert PIXEL in body
        assert base64.b64encode(PDF).decode() in body
    if first != second:
        assert (one.mark in theirs, one.mark in back, other.mark in back) == (False, True, False)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_model_that_cannot_see_is_told_what_stood_there(tmp_path: Path, dialect: str) -> None:
    with Speaking("messages", story()) as seeing, Speaking(dialect, story(), blind=True) as blind:
        providers = {"seeing": seeing.provider(), "blind": blind.provider()}
        async with desk(tmp_path, [], providers=providers, toolCall=ALLOW_ALL, defaultModel="seeing/m") as table:
            (tmp_path / "paper.pdf").write_bytes(PDF)
            client = await table.client()
            await shows(client, "see", PICTURE, FileContext(path="paper.pdf"))
            assert outcomes(await answer(client, "and?", model="blind/m")) == ["completed"]
            assert outcomes(await answer(client, "and now?", model="seeing/m")) == ["completed"]
    assert (seeing.refused, blind.refused) == ([], [])
    told, seen = json.dumps(blind.bodies[0], ensure_ascii=False), json.dumps(seeing.bodies[-1])
    assert (IMAGE_PLACEHOLDER in told, PDF_PLACEHOLDER.format("paper.pdf") in told) == (True, True)
    assert (PIXEL in seen, IMAGE_PLACEHOLDER in seen) == (True, False)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_pdf_that_a_tool_reads_reaches_the_model(tmp_path: Path, dialect: str) -> None:
    rules = [
        {"result": "is a PDF", "reply": [{"text": "I have read it."}]},
        {"message": "", "reply": [{"tool": "read_file", "arguments": {"path": "paper.pdf"}}]},
    ]
    with Speaking(dialect, Script.model_validate({"rules": rules})) as server:
        providers = {"it": server.provider()}
        async with desk(tmp_path, [], providers=providers, toolCall=ALLOW_ALL, defaultModel="it/m") as table:
            (tmp_path / "paper.pdf").write_bytes(PDF)
            received = await answer(await table.client(), "read the paper")
        async with desk(tmp_path, [], providers=providers, toolCall=ALLOW_ALL, defaultModel="it/m") as table:
            await answer(await table.client(), "again")
    assert said(received) == "I have read it."
    assert server.refused == []
    # Also after a restart; and never in what the reader is sent.
    assert all(base64.b64encode(PDF).decode() in json.dumps(body) for body in server.bodies[1:])
    assert base64.b64encode(PDF).decode() not in str([item.content for item in received])
