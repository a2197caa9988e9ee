"""What has ended beside the turns: shown at the next seam, and told to the model once, when it is asked anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import NotesSentAside
from tests.engine.talk import Talk, call

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import History

NOTE = inputs.NoteAdded(5000, "It is done.", "[job-1 is done]")


def texts(talk: Talk) -> list[str]:
    return [e.content.text for e in talk.events if isinstance(e.content, TextContent) and e.role is not Role.USER]


def told(history: History) -> list[str]:
    """Texts of the user's side."""
    return [getattr(part, "text", "") for message in history if message.role == "user" for part in message.parts]


def test_a_note_at_rest_is_shown_and_asks_the_model_nothing() -> None:
    talk = Talk().asks().says("Hello").done().feed(NOTE)
    assert texts(talk)[-1] == "It is done."
    assert (talk.effects, told(talk.state.history)) == ((), ["Hi"])


def test_the_model_is_told_once_with_the_next_prompt() -> None:
    talk = Talk().asks().says("Hello").done().feed(NOTE).asks("And now?").says("So").done().asks("More?")
    assert told(talk.state.history) == ["Hi", "And now?\n\n[job-1 is done]", "More?"]


def test_the_model_is_told_in_the_turn_with_the_results_of_its_calls() -> None:
    talk = Talk().asks().calls(call("look")).feed(NOTE).ran("1", "seen")
    last = talk.state.history[-1].parts
    assert [getattr(part, "text", "") for part in last] == ["seen", "\n\n[job-1 is done]"]


def test_a_note_does_not_tear_what_the_model_is_saying() -> None:
    talk = Talk().asks().says("Hel").feed(NOTE).says("lo").done()
    assert texts(talk) == ["Hel", "lo", "It is done."]


def test_what_the_model_was_not_told_before_a_crash_it_is_told_after_it() -> None:
    talk = Talk().asks().says("Hello").done().feed(NOTE)
    assert restore("chat", talk.events, 9000).state.notes == ("[job-1 is done]",)
    talk.asks("And now?")
    assert restore("chat", talk.events, 9000).state.notes == ()


def test_no_client_is_shown_that_the_model_was_told() -> None:
    talk = Talk().asks().says("Hello").done().feed(NOTE).asks("And now?")
    (quiet,) = [e for e in talk.events if e.aside == NotesSentAside(text="\n\n[job-1 is done]")]
    assert isinstance(quiet.content, ProgressContent)
    assert quiet.role is Role.USER
