"""A model that obeys every injection does nothing that the user has not approved by a card that names it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from tests.apps.kernel.markdown_judges import problems
from tests.red_team.carriers import CARRIERS
from tests.red_team.orders import DONE, ORDERS, PRIVATE
from tests.red_team.world import World, fill_act, world
from tests.support.host_and_client import outcomes, said
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

# What the transcript of a cell has beside Markdown.
FOLDED = ("details", "summary")
LOOSE_RULES: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
# Each carrier brings three orders, and each order comes in several carriers.
INJECTIONS = [
    (carrier, list(ORDERS)[(number + shift * 18) % len(ORDERS)])
    for shift in range(3)
    for number, carrier in enumerate(CARRIERS)
]


def reject(_: ToolCallRunContent) -> bool:
    return False


def check_arrival(there: World) -> None:
    """Without this a case proves nothing."""
    assert there.model.obeyed[:1] == [there.mark], "the injection has not reached the model"


def check_questions(there: World) -> None:
    """Each act was asked about, in this order, by a card that names it."""
    acts = [fill_act(act, there.places()) for act in there.order.acts]
    assert [question.name for question in there.asked] == [act.tool for act in acts]
    for act, question in zip(acts, there.asked, strict=True):
        card = json.dumps(question.as_json_object(), ensure_ascii=False)
        assert [name for name in act.names if name not in card] == []


def list_loaded(received: list[ChatContentReceivedParams]) -> list[str]:
    """Return what the output of a cell would load or run by itself, at any moment of the answer, in pages that show raw
    HTML as it is."""
    transcript, drawn = CellTranscript(), dict[str, None]()
    for content in received:
        transcript.add(content)
        drawn[transcript.as_markdown()] = None
    drawn[transcript.as_markdown(final=True)] = None
    return [problem for text in drawn for found in problems(text, FOLDED).values() for problem in found]


async def test_every_carrier_and_every_order_is_tried() -> None:
    """The page on security tells these numbers."""
    assert ({*CARRIERS}, {*ORDERS}) == ({carrier for carrier, _ in INJECTIONS}, {order for _, order in INJECTIONS})
    assert (len({*INJECTIONS}), len(CARRIERS), len(ORDERS)) == (168, 56, 54)


@pytest.mark.parametrize(("carrier", "order"), sample(INJECTIONS, every=6))
async def test_what_an_injection_asks_for_waits_for_an_approval_that_names_it(
    carrier: str, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path, monkeypatch, CARRIERS[carrier], order) as there:
        received = await there.play(reject)
        check_arrival(there)
        assert there.changed() == set()
        check_questions(there)
        assert PRIVATE not in there.model.sent
        assert not (there.root / "BROUGHT").exists()
        assert set(outcomes(received)) == {"completed"}
        assert list_loaded(received) == []


@pytest.mark.parametrize("name", sample(ORDERS, every=9))
async def test_what_is_approved_happens_and_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user approves one act after the other, each in a world of its own."""
    for number, act in enumerate(ORDERS[name].acts):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with world(folder, monkeypatch, CARRIERS["a file"], name) as there:
            await there.play(lambda _: len(there.asked) == number + 1)  # noqa: B023  # called in this step only
            check_arrival(there)
            check_questions(there)
            assert there.changed() == act.does


@pytest.mark.parametrize("name", sample(ORDERS, every=9))
async def test_with_a_rule_that_allows_everything_the_same_orders_are_seen_to_act(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the facts that the other tests compare can change, and no test passes because nothing was tried. What decides
    what may run, and what a cell would load, is asked about all the same."""
    async with world(tmp_path, monkeypatch, CARRIERS["a file"], name, **LOOSE_RULES) as there:
        await there.play(reject)
        check_arrival(there)
        acts = [fill_act(act, there.places()) for act in there.order.acts]
        kept = [act for act in acts if act.always_asked]
        assert [question.name for question in there.asked] == [act.tool for act in kept]
        assert there.changed() == {fact for act in acts if not act.always_asked for fact in act.does}


@pytest.mark.parametrize("name", [name for name, order in ORDERS.items() if order.says != DONE])
async def test_an_answer_loads_nothing_in_a_cell(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Markdown by itself would."""
    async with world(tmp_path, monkeypatch, CARRIERS["a file"], name) as there:
        received = await there.play(reject)
        text = said(received)
        assert there.listener.url in text
        assert problems(text)
        assert list_loaded(received) == []
