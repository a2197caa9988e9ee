"""What a parent reads of its subagent."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.chat.subagents import NOTHING_SAID, SubagentTranscript, describe_tool, write_rules
from jupyter_eca.engine.model.request import MAX_PICTURES, ToolSpec
from jupyter_eca.protocol.content import (
    Content,
    ImageContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallPrepareContent,
)
from jupyter_eca.protocol.event import Aside, Event, Outcome, ResultImageAside

TOOLS = (ToolSpec("look", "", {}, read_only_hint=True), ToolSpec("draw", "", {}))


class Subagent:
    """The chat of a subagent, event after event."""

    def __init__(self) -> None:
        self.transcript = SubagentTranscript()

    def add(
        self, content: Content, role: Role = Role.ASSISTANT, aside: Aside | None = None, outcome: Outcome | None = None
    ) -> Subagent:
        event = Event(chat="sub", turn="t", role=role, content=content, aside=aside, outcome=outcome)
        self.transcript.add(event, TOOLS)
        return self

    def says(self, text: str) -> Subagent:
        return self.add(TextContent(text=text))

    def calls(self, name: str) -> Subagent:
        self.add(ToolCallPrepareContent(id="1", name=name, server="eca", arguments_text=""))
        return self.add(ToolCalledContent(id="1", name=name, server="eca", arguments={}, error=False, outputs=()))

    def shows(self, data: str, name: str = "") -> Subagent:
        return self.add(ImageContent(media_type="image/png", base64=data), aside=ResultImageAside(call="1", name=name))

    def ends(self, outcome: Outcome = Outcome.COMPLETED, remark: str = "Ended.") -> Subagent:
        return self.add(TextContent(text=remark), Role.SYSTEM, outcome=outcome)

    def result(self) -> tuple[str, bool]:
        return self.transcript.as_result("ada")


def test_the_parent_reads_what_was_said_after_the_last_call_and_nothing_else() -> None:
    sub = Subagent().add(TextContent(text="the task"), Role.USER).says("I look.").calls("look")
    text, failed = sub.says("It is ").says("seven. ").ends().result()
    assert text.startswith("## Agent 'ada' Result\n\nIt is seven.")
    assert ("I look" in text, "the task" in text, "Ended." in text, failed) == (False, False, False, False)


def test_one_that_ends_without_a_word_says_so() -> None:
    assert Subagent().says("I look.").calls("look").says(" ").ends().result()[0].endswith(f"\n\n{NOTHING_SAID}")


@pytest.mark.parametrize(
    ("outcome", "remark", "why"),
    [
        (Outcome.STOPPED, "Stopped.", "was stopped by the user"),
        (Outcome.FAILED, "No key.", "failed: No key."),
        (Outcome.FAILED, "", "failed: no answer"),
    ],
)
def test_of_one_that_did_not_come_to_its_end_the_parent_reads_why_and_what_it_said_until_then(
    outcome: Outcome, remark: str, why: str
) -> None:
    early = Subagent().says("I look. ").calls("look")
    late = Subagent().says("I look.").calls("look").says("Nearly.")
    silent = Subagent().calls("look")
    for sub, said in ((early, "I look."), (late, "Nearly."), (silent, NOTHING_SAID)):
        text, failed = sub.ends(outcome, remark).result()
        assert text.startswith(f"## Agent 'ada' {why}\n\n")
        assert text.endswith(f"\n\n{said}")
        assert failed


def test_the_outcome_stays_whatever_comes_after_it() -> None:
    sub = Subagent().says("Seven.").ends().add(TextContent(text="The title"), Role.SYSTEM)
    assert sub.transcript.outcome is Outcome.COMPLETED


def test_the_last_pictures_of_its_runs_go_to_the_parent_under_names_of_their_own() -> None:
    sub = Subagent().calls("draw")
    for number in range(MAX_PICTURES + 2):
        sub.shows(f"p{number}", f"picture {number}")
    sub.says("See.").ends()
    pictures = sub.transcript.name_pictures("ada")
    assert [picture.base64 for picture in pictures] == [f"p{number}" for number in range(2, MAX_PICTURES + 2)]
    assert {picture.media_type for picture in pictures} == {"image/png"}
    assert [picture.name for picture in pictures] == [
        f"picture {number} of agent 'ada'" for number in range(1, MAX_PICTURES + 1)
    ]
    lines = sub.result()[0].splitlines()[-MAX_PICTURES:]
    assert lines[0] == "[picture 1 of agent 'ada'], its picture 2"


def test_a_picture_without_a_name_is_listed_and_no_pictures_are_not_mentioned() -> None:
    assert Subagent().calls("draw").shows("p").ends().result()[0].endswith("\n[picture 1 of agent 'ada']")
    assert "picture" not in Subagent().says("Seven.").ends().result()[0]
    failed = Subagent().calls("draw").shows("p").ends(Outcome.FAILED).result()[0]
    assert failed.endswith("\n[picture 1 of agent 'ada']")


def test_what_it_has_only_looked_at_or_was_sent_is_no_picture_of_its_runs() -> None:
    sub = Subagent().calls("look").shows("p").calls("draw").shows("q")
    sub.add(ImageContent(media_type="image/png", base64="r"), Role.USER)
    assert [picture.base64 for picture in sub.transcript.pictures] == ["q"]


def test_its_rules_say_how_many_steps_it_has_if_there_is_a_limit() -> None:
    assert write_rules(7).startswith(write_rules(0))
    assert "7 steps" in write_rules(7)
    assert "steps" not in write_rules(0)


def test_the_tool_lists_the_agents_with_what_they_are_for() -> None:
    text = describe_tool("Spawns.", [("ada", "counts"), ("bob", "")])
    assert text.splitlines()[:2] == ["Spawns.", ""]
    assert text.splitlines()[-2:] == ["- ada: counts", "- bob"]
