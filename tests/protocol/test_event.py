"""`merged`: less to send and to store, and nothing different to read."""

from __future__ import annotations

from itertools import groupby
from time import perf_counter
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.model.history import add_event
from jupyter_eca.protocol.content import Content, ProgressContent, ReasonTextContent, Role, TextContent
from jupyter_eca.protocol.event import Aside, ContextAside, Event, Outcome, merge_pieces

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import History
    from jupyter_eca.protocol.base import Model

ASIDE = ContextAside(text="why")

contents: st.SearchStrategy[Content] = st.one_of(
    st.builds(TextContent, text=st.text(max_size=3), content_id=st.sampled_from([None, None, None, "c"])),
    st.builds(ReasonTextContent, id=st.sampled_from(["r1", "text"]), text=st.text(max_size=3)),
    st.just(ProgressContent(state="running", text="Generating")),
)
events = st.builds(
    Event,
    chat=st.sampled_from(["one", "one", "two"]),
    turn=st.sampled_from(["t1", "t1", "t2"]),
    role=st.sampled_from([Role.ASSISTANT, Role.ASSISTANT, Role.USER, Role.SYSTEM]),
    content=contents,
    aside=st.sampled_from([None, None, None, ASIDE]),
    outcome=st.sampled_from([None, None, None, Outcome.COMPLETED]),
)


def numbered(found: list[Event]) -> list[Event]:
    return [event.model_copy(update={"seq": seq}) for seq, event in enumerate(found, 1)]


streams = st.lists(events, max_size=12).map(numbered)


def said(text: str, role: Role = Role.ASSISTANT, **fields: object) -> Event:
    return Event.model_validate({"chat": "c", "turn": "t", "role": role, "content": TextContent(text=text), **fields})


def text_of(event: Event) -> str | None:
    return event.content.text if isinstance(event.content, TextContent | ReasonTextContent) else None


def kind(event: Event) -> tuple[object, ...]:
    id = event.content.id if isinstance(event.content, ReasonTextContent) else None
    return event.chat, event.turn, event.role, event.content.type, id


def recalled(stream: list[Event]) -> History:
    history: History = ()
    for event in stream:
        history = add_event(history, event)
    return history


@given(streams)
def test_order_and_text_are_unchanged(stream: list[Event]) -> None:
    def read(found: list[Event]) -> list[tuple[object, str]]:
        return [(key, "".join(text_of(e) or "" for e in run)) for key, run in groupby(found, key=kind)]

    assert read(merge_pieces(stream)) == read(stream)


@given(streams)
def test_what_the_model_remembers_is_unchanged(stream: list[Event]) -> None:
    assert recalled(merge_pieces(stream)) == recalled(stream)


@given(streams)
def test_a_replay_after_the_last_of_a_run_repeats_nothing(stream: list[Event]) -> None:
    seqs = [event.seq for event in merge_pieces(stream)]
    assert seqs == sorted(set(seqs))
    assert seqs[-1:] == [event.seq for event in stream][-1:]


@given(streams)
def test_merging_again_changes_nothing(stream: list[Event]) -> None:
    assert merge_pieces(merge_pieces(stream)) == merge_pieces(stream)


@given(streams)
def test_what_is_more_than_a_piece_of_text_stands_alone(stream: list[Event]) -> None:
    special = [e for e in stream if e.aside or e.outcome or e.role is not Role.ASSISTANT or text_of(e) is None]
    assert [event for event in merge_pieces(stream) if event in special] == special


def test_pieces_of_an_answer_become_one() -> None:
    (one,) = merge_pieces([said("Hel", seq=1), said("lo", seq=2, at=5)])
    assert one == said("Hello", seq=2, at=5)


@pytest.mark.parametrize("difference", [{"chat": "d"}, {"turn": "u"}, {"outcome": Outcome.FAILED}, {"aside": ASIDE}])
def test_pieces_of_different_things_stay_apart(difference: dict[str, object]) -> None:
    stream = [said("a"), said("b").model_copy(update=difference)]
    assert merge_pieces(stream) == stream


def test_two_remarks_stay_two_sentences() -> None:
    stream = [said("The answer was cut off.", Role.SYSTEM), said("Stopped.", Role.SYSTEM)]
    assert merge_pieces(stream) == stream


def test_a_reasoning_is_not_taken_for_text_by_its_name() -> None:
    reasoning = said("").model_copy(update={"content": ReasonTextContent(id="text", text="hm")})
    assert merge_pieces([reasoning, said("a")]) == [reasoning, said("a")]


def test_forty_thousand_pieces_are_merged_in_no_time() -> None:
    stream = [said("0123456789")] * 40_000
    start = perf_counter()
    (one,) = merge_pieces(stream)
    assert text_of(one) == "0123456789" * 40_000
    assert perf_counter() - start < 5  # quadratic work would take minutes, this takes 0.1 s


@pytest.mark.parametrize("kind", get_args(get_args(Aside)[0]), ids=lambda kind: kind.__name__)
def test_what_an_event_means_to_the_model_survives_json(kind: type[Model]) -> None:
    fields = {
        name: True if field.annotation is bool else "x" for name, field in kind.model_fields.items() if name != "kind"
    }
    event = said("", Role.SYSTEM, aside=kind(**fields))
    again = Event.model_validate_json(event.model_dump_json(by_alias=True, exclude_none=True))
    assert (again, type(again.aside)) == (event, kind)
