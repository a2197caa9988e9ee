"""What a model reads of a chat, event after event."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import pytest

from jupyter_eca.engine.model.compaction import (
    KEPT_RESULT_CHARS,
    SummaryUnderWay,
    build_summary_messages,
    compact,
    estimate_tokens,
    prune,
    select_messages_to_summarise,
)
from jupyter_eca.engine.model.history import (
    add_event,
    build_history,
    has_call,
    has_media,
    has_unanswered_words,
    is_unanswered,
)
from jupyter_eca.engine.model.request import (
    ChatMessage,
    DocumentPart,
    History,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
)
from jupyter_eca.engine.model.texts import (
    NO_IMAGES,
    PRUNED_RESULT,
    REFUSED_RESULT,
    SUMMARISE,
    format_context,
)
from jupyter_eca.protocol.content import (
    Content,
    ImageContent,
    ProgressContent,
    ReasonFinishedContent,
    ReasonTextContent,
    RejectReason,
    Role,
    TextContent,
    TextOutput,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    UsageContent,
)
from jupyter_eca.protocol.event import (
    Aside,
    BeginningAside,
    ContextAside,
    DocumentAside,
    Event,
    FetchedRuleAside,
    ImagesRefusedAside,
    NoteAside,
    NotesSentAside,
    PrunedAside,
    RefusedAside,
    RejectionAside,
    ResultImageAside,
    RewordedAside,
    SignatureAside,
    SummaryAside,
    UnansweredAside,
    WithdrawnAside,
)

USER, MODEL, SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM
PROGRESS = ProgressContent(state="running", text="x")


def event(
    content: Content = PROGRESS, role: Role = SYSTEM, aside: Aside | None = None, *, local: bool = False
) -> Event:
    return Event(chat="c", turn="t", role=role, content=content, aside=aside, local=local)


def read(*events: Event, before: History = ()) -> History:
    return reduce(add_event, events, before)


def text(text: str, role: Role = USER, aside: Aside | None = None) -> Event:
    return event(TextContent(text=text), role, aside)


def image(data: str, aside: Aside | None = None) -> Event:
    return event(ImageContent(media_type="image/png", base64=data), USER, aside)


def runs(id: str, aside: Aside | None = None) -> Event:
    return event(
        ToolCallRunContent(id=id, name="look", server="eca", arguments={"a": id}, manual_approval=False), MODEL, aside
    )


def ran(id: str, *outputs: str, error: bool = False, aside: Aside | None = None) -> Event:
    texts = tuple(TextOutput(text=output) for output in outputs)
    content = ToolCalledContent(id=id, name="look", server="eca", arguments={}, error=error, outputs=texts)
    return event(content, MODEL, aside)


def rejected(id: str, aside: Aside | None = None) -> Event:
    content = ToolCallRejectedContent(id=id, name="look", server="eca", arguments={}, reason=RejectReason.USER)
    return event(content, MODEL, aside)


def user(*parts: Part | str) -> ChatMessage:
    return ChatMessage("user", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def model(*parts: Part | str) -> ChatMessage:
    return ChatMessage("assistant", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def use(id: str, signature: str = "") -> ToolUsePart:
    return ToolUsePart(id, "look", {"a": id}, signature)


def result(id: str, text: str = "", *, error: bool = False, **more: Any) -> ToolResultPart:
    return ToolResultPart(id, text, error, **more)


PICTURE, DOCUMENT = ImagePart("image/png", "AAAA"), DocumentPart("a.pdf", "UERG")
SIGNED = SignatureAside(signature="proof")


def test_pieces_of_an_answer_are_one_text_and_messages_of_the_user_are_not() -> None:
    assert read(text("Hi"), text("Ho"), text("a", MODEL), text("b", MODEL), text("c")) == (
        user("Hi", "Ho"),
        model("ab"),
        user("c"),
    )


@pytest.mark.parametrize(
    "ignored",
    [
        text("Stopped.", SYSTEM),
        event(),
        event(UsageContent(session_tokens=1, message_input_tokens=1, message_output_tokens=1)),
        event(TextContent(text="/help"), USER, local=True),
        text("A job ended.", SYSTEM, NoteAside(text="ended")),
        rejected("nobody's"),
        event(ReasonFinishedContent(id="nobody's"), MODEL, SIGNED),
        event(aside=WithdrawnAside()),
        event(aside=RewordedAside(text="x")),
        event(aside=RefusedAside(results=True)),
        event(aside=UnansweredAside(text="x")),
        event(aside=PrunedAside()),
        event(aside=ImagesRefusedAside()),
    ],
)
def test_what_is_not_for_the_model_changes_nothing(ignored: Event) -> None:
    before = (user("Hi"), model(use("1")), user(result("1")), model("Yes.", ReasoningPart("r", "")))
    assert read(ignored, before=before) == before
    assert read(ignored) == ()


def test_reasoning_is_kept_by_its_id_with_the_signature_of_its_vendor() -> None:
    def thinks(id: str, text: str) -> Event:
        return event(ReasonTextContent(id=id, text=text), MODEL)

    finished = event(ReasonFinishedContent(id="r"), MODEL, SIGNED)
    assert read(text("Hi"), thinks("r", "a"), thinks("r", "b"), thinks("s", "c"), finished, text("d", MODEL)) == (
        user("Hi"),
        model(ReasoningPart("r", "ab", "proof"), ReasoningPart("s", "c"), "d"),
    )
    assert read(thinks("r", "a"), event(ReasonFinishedContent(id="r"), MODEL))[0].parts == (ReasoningPart("r", "a"),)


def test_a_text_after_reasoning_continues_with_its_next_piece() -> None:
    thought = event(ReasonTextContent(id="r", text="a"), MODEL)
    assert read(thought, text("b", MODEL), text("c", MODEL)) == (model(ReasoningPart("r", "a"), "bc"),)


def test_what_is_long_past_stays_as_it_is_whatever_is_refused_now() -> None:
    before = read(image("AAAA"), text("a", MODEL), image("BBBB"), text("b", MODEL))
    assert read(image("CCCC"), event(aside=ImagesRefusedAside()), before=before) == (*before, user(NO_IMAGES))
    called = (*before, model("b", use("1")))
    shown = (ran("1", "r"), image("DDDD", ResultImageAside(call="1")))
    assert read(*shown, before=called)[:-1] == called
    assert read(*shown, event(aside=RefusedAside()), before=called) == (*called, user(result("1", "r")))


def test_each_call_has_its_result_first_in_the_next_message_whatever_comes_between() -> None:
    history = read(
        text("Hi"), runs("1", SIGNED), runs("2"), image("AAAA"), ran("2", "b"), ran("1", "a", "c"), text("Ho")
    )
    assert history == (
        user("Hi"),
        model(use("1", "proof"), use("2")),
        user(result("2", "b"), result("1", "a\nc"), PICTURE, "Ho"),
    )


def test_a_call_that_is_shown_again_after_its_approval_is_one_call() -> None:
    history = read(text("Hi"), runs("1"), runs("2"), ran("1", "a"), runs("2"), ran("2", "b"))
    assert history == (user("Hi"), model(use("1"), use("2")), user(result("1", "a"), result("2", "b")))
    later = read(*(text(role, role_of) for role, role_of in (("a", MODEL), ("b", USER))), runs("1"), before=history)
    assert has_call(later[3:], "1")


def test_a_call_that_failed_or_was_rejected_says_why() -> None:
    history = read(
        *(runs("1"), runs("2"), runs("3"), ran("1", "broke", error=True)),
        *(rejected("2", RejectionAside(text="No.")), rejected("3")),
    )
    assert history[1].parts == (
        result("1", "broke", error=True),
        result("2", "No.", error=True),
        result("3", error=True),
    )
    fetched = read(runs("1"), ran("1", "a", aside=FetchedRuleAside(id="r")))
    assert fetched[1].parts == (result("1", "a", fetched_rule="r"),)


def test_a_picture_of_a_result_is_a_part_of_it_if_the_result_is_there() -> None:
    aside = ResultImageAside(call="1", name="picture 1")
    named = ImagePart("image/png", "AAAA", "picture 1")
    history = read(runs("1"), runs("2"), ran("1", "a"), ran("2", "b"), image("AAAA", aside), image("BBBB", aside))
    assert history[1].parts == (
        result("1", "a", images=(named, ImagePart("image/png", "BBBB", "picture 1"))),
        result("2", "b"),
    )
    assert read(image("AAAA", aside)) == (user(named),)
    assert read(text("Hi"), image("AAAA", aside)) == (user("Hi", named),)
    assert read(image("AAAA")) == (user(PICTURE),)


@pytest.mark.parametrize("aside", [ContextAside(text="+more"), NotesSentAside(text="+more")])
def test_contexts_and_notes_are_added_to_the_last_text_of_the_user(aside: Aside) -> None:
    assert read(text("Hi"), event(aside=aside)) == (user("Hi+more"),)
    assert read(text("Hi", USER, aside)) == (user("Hi+more"),)
    assert read(text("Hi"), image("AAAA"), event(aside=aside)) == (user("Hi", PICTURE, "+more"),)
    assert read(text("a", MODEL), event(aside=aside)) == (model("a"), user("+more"))
    assert read(event(aside=aside)) == (user("+more"),)


def test_a_turn_may_begin_with_a_text_or_a_document_that_the_user_did_not_write() -> None:
    assert read(text("A job ended.", SYSTEM, BeginningAside(text="It ended."))) == (user("It ended."),)
    assert read(event(aside=DocumentAside(name="a.pdf", base64="UERG"))) == (user(DOCUMENT),)


def test_a_hook_replaces_the_prompt_or_takes_it_away() -> None:
    asked = (text("Hi"), text("a", MODEL), text("Ho"))
    assert read(*asked, event(aside=RewordedAside(text="Hey"))) == (user("Hi"), model("a"), user("Hey"))
    assert read(*asked, event(aside=WithdrawnAside())) == (user("Hi"), model("a"))
    assert read(image("AAAA"), text("Hi"), event(aside=WithdrawnAside())) == (user(PICTURE),)
    assert read(image("AAAA"), text("Hi"), event(aside=RewordedAside(text="x"))) == (user(PICTURE, "x"),)


def test_what_was_not_answered_is_marked() -> None:
    mark = event(aside=UnansweredAside(text="(stopped)"))
    assert read(text("Hi"), mark) == (user("Hi", "(stopped)"),)
    assert read(text("Hi"), text("a", MODEL), mark) == (user("Hi"), model("a"))
    assert [is_unanswered(read(*events)) for events in ((), (text("Hi"),), (text("a", MODEL),))] == [False, True, False]
    results = read(runs("1"), ran("1", "a"))
    assert [has_unanswered_words(history) for history in ((), results, read(text("Hi")))] == [False, False, True]


def test_a_refused_message_is_left_out_and_results_stay_without_their_pictures() -> None:
    assert read(text("a", MODEL), text("Hi"), event(aside=RefusedAside())) == (model("a"),)
    pictured = ran("1", "a", aside=FetchedRuleAside(id="r"))
    asked = (runs("1"), pictured, image("AAAA", ResultImageAside(call="1")), text("Hi"))
    assert read(*asked, event(aside=RefusedAside())) == (model(use("1")), user(result("1", "a", fetched_rule="r")))
    assert read(*asked, event(aside=RefusedAside(results=True))) == (model(use("1")), user(result("1", REFUSED_RESULT)))
    assert read(text("Hi"), text("a", MODEL), event(aside=RefusedAside())) == (user("Hi"), model("a"))


def test_refused_pictures_are_replaced_in_the_new_message_or_else_in_all() -> None:
    old = (image("AAAA"), text("a", MODEL))
    new = (image("BBBB"), event(aside=DocumentAside(name="a.pdf", base64="UERG")))
    refused = event(aside=ImagesRefusedAside())
    gone = TextPart(NO_IMAGES)
    first, _, last = read(*old, *new, refused)
    assert first == user(PICTURE)
    assert last.parts[0] == gone
    assert isinstance(last.parts[1], TextPart)
    assert "a.pdf" in last.parts[1].text
    assert read(*old, text("Hi"), refused) == (user(gone), model("a"), user("Hi"))
    assert read(*old, refused) == (user(gone), model("a"))
    results = read(runs("1"), ran("1", "a"), image("AAAA", ResultImageAside(call="1")), refused)
    assert results == (model(use("1")), user(result("1", f"a\n{NO_IMAGES}")))


@pytest.mark.parametrize(
    ("history", "has"),
    [
        ((user("Hi"), model(use("1")), user(result("1", "a"))), False),
        ((user(PICTURE), model("a")), True),
        ((user("Hi", DOCUMENT),), True),
        ((user(result("1", "a", images=(PICTURE,))),), True),
        ((), False),
    ],
)
def test_pictures_and_documents_are_found_also_in_results(history: History, has: bool) -> None:
    assert has_media(history) is has


def test_a_summary_replaces_all_but_what_is_not_answered() -> None:
    summary = event(aside=SummaryAside(text="Short. "))
    assert read(text("Hi"), text("a", MODEL), text("Ho"), image("AAAA"), summary) == (user("Short. ", "Ho", PICTURE),)
    assert read(text("Hi"), text("a", MODEL), summary) == (user("Short. "),)


# --- what is summarised, and what is left out -------------------------------------------------------------------------

LONG = "x" * 3_000


def test_the_unanswered_prompt_is_not_summarised_but_results_before_it_are() -> None:
    answered = (user("Hi"), model("a"))
    assert select_messages_to_summarise(answered) == answered
    assert select_messages_to_summarise((*answered, user("Ho"))) == answered
    assert select_messages_to_summarise((*answered, user(result("1", "r"), "Ho"))) == (
        *answered,
        user(result("1", "r")),
    )
    results = (*answered, user(result("1", "r"), PICTURE))
    assert select_messages_to_summarise(results) == results
    assert select_messages_to_summarise(()) == ()


def test_a_summary_is_asked_for_in_the_last_message_of_the_user_or_in_a_new_one() -> None:
    focused = SummaryUnderWay(focus="the names")
    (first, answer, asked) = build_summary_messages((user("Hi"), model("a"), user("Ho")), focused)
    assert (first, answer) == (user("Hi"), model("a"))
    assert asked.role == "user"
    assert asked.text.startswith(SUMMARISE)
    assert asked.text.endswith("the names")
    (first, answer, asked) = build_summary_messages(
        (user("Hi"), model(use("1")), user(result("1", "r"))), SummaryUnderWay()
    )
    assert asked == user(result("1", "r"), SUMMARISE)


def test_where_the_request_must_be_short_long_texts_lose_their_middle_and_pictures_become_words() -> None:
    edge = "y" * 2_000
    before = (
        user(LONG, edge, PICTURE, DOCUMENT),
        model(use("1"), ReasoningPart("r", LONG)),
        user(result("1", LONG, images=(PICTURE,))),
        model("a"),
    )
    (first, second, third, _, _) = build_summary_messages(before, SummaryUnderWay(forced=True))
    short = f"{'x' * 1_000}\n[...]\n{'x' * 1_000}"
    assert first.parts[:2] == (TextPart(short), TextPart(edge))
    assert all(isinstance(part, TextPart) and len(part.text) < 50 for part in first.parts[2:])
    assert "a.pdf" in first.text
    assert second == before[1]
    assert third.parts == (result("1", short),)
    assert build_summary_messages(before, SummaryUnderWay())[:4] == before


def test_a_prompt_that_was_answered_in_part_is_repeated_after_a_summary_without_its_contexts() -> None:
    asked = user(f"Find it.{format_context('a.py', 'x = 1')}")
    history = (user("Before"), model("b"), asked, model(use("1")), user(result("1", "r")))
    (message,) = compact(history, "Short.")
    assert message.parts[0] == TextPart("Short.")
    assert message.text.endswith("\n\nFind it.")
    assert "x = 1" not in message.text
    assert compact((*history, model("c")), "Short.") == (user("Short."),)
    assert compact((), "Short.") == (user("Short."),)
    (message,) = compact((user("Find", "it."), model(use("1")), user(result("1", "r"))), "Short.")
    assert message.text.endswith("\n\nFind\nit.")
    (message,) = compact((user(result("1", "r")),), "Short.")
    assert message.text.endswith("\n\n")


def test_the_newest_results_stay_and_older_ones_are_left_out_with_their_pictures() -> None:
    long, short = "x" * KEPT_RESULT_CHARS, "y" * len(PRUNED_RESULT)
    old = result("1", f"{long}z", fetched_rule="r", images=(PICTURE,))
    history = (model(use("1")), user(old, result("2", short)), model("a"), user(result("3", long), "Hi"))
    assert prune(history) == (history[0], user(result("1", PRUNED_RESULT), result("2", short)), *history[2:])
    kept = (user(result("1", "a"), result("2", long[1:])),)
    assert prune(kept) is kept


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (TextPart("x" * 8), 2),
        (ReasoningPart("r", "x" * 7), 1),
        (result("1", "x" * 12), 3),
        (ToolUsePart("1", "abcd", {"a": 1}), 3),
        (PICTURE, 0),
        (DOCUMENT, 0),
    ],
)
def test_tokens_are_estimated_from_all_texts(part: Part, tokens: int) -> None:
    assert estimate_tokens((user(part),)) == tokens


def make_events(seed: int, count: int) -> list[Event]:
    """Events of all kinds, most of which add a message."""
    choose = random.Random(seed)
    events: list[Event] = []
    for number in range(count):
        id = f"call {number}"
        common = [text(f"question {number}"), text(f"answer {number}", MODEL)]
        rare = [
            [text(f"question {number}"), image(str(number)), event(aside=RefusedAside(results=False))],
            [text("old words"), event(aside=RewordedAside(text=f"question {number}"))],
            [text("secret"), event(aside=WithdrawnAside())],
            [text(f"question {number}"), event(aside=UnansweredAside(text="nobody answered"))],
            [event(aside=DocumentAside(name="a.pdf", base64="x")), text("", aside=BeginningAside(text="begin"))],
            [runs(id), ran(id, "seen"), image("picture", ResultImageAside(call=id, name="p"))],
            [runs(id), text("between", MODEL), rejected(id, RejectionAside(text="no")), rejected("unknown")],
            [text("known", aside=ContextAside(text="context"))],
            [event(aside=RefusedAside(results=True))],
            [event(aside=ImagesRefusedAside())],
            [event(aside=PrunedAside())],
            [event(aside=SummaryAside(text=f"summary {number}"))],
        ]
        # The last two make the conversation short.
        weights = [100.0, *[1.0] * (len(rare) - 2), 0.1, 0.2]
        events += choose.choices([common, *rare], weights)[0]
    return events


@pytest.mark.parametrize("seed", range(6))
def test_the_conversation_of_a_long_chat_is_the_same_when_it_is_built_at_once(seed: int) -> None:
    events = make_events(seed, 250)
    assert build_history(events) == read(*events)


def test_the_conversation_of_a_long_chat_is_built_from_parts_and_taken_apart_again() -> None:
    words = [each for number in range(100) for each in (text(f"question {number}"), text(f"answer {number}", MODEL))]
    events = [*words, *[event(aside=WithdrawnAside())] * 30, text("more"), event(aside=ImagesRefusedAside()), *words]
    assert len(build_history(words)) == 200
    assert build_history(events) == read(*events)
