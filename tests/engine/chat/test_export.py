"""A chat as a document, or as the cells of a notebook."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.chat.export import format_chat, make_cells, make_file_name
from jupyter_eca.protocol.content import (
    AnswerRating,
    Cause,
    Content,
    FileChangeDetails,
    FlagContent,
    ImageContent,
    RatingContent,
    RejectReason,
    Role,
    RunCellsDetails,
    ShellCommandDetails,
    ShellCommandPart,
    ShownCell,
    SubagentDetails,
    Task,
    TaskDetails,
    TaskStatus,
    TaskSummary,
    TextContent,
    TextOutput,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    UrlContent,
    UsageContent,
)
from jupyter_eca.protocol.event import Event, Person

ADA = Person(username="ada", name="Ada *L*")
CALL: dict[str, Any] = {"id": "1", "name": "act", "server": "eca", "arguments": {}}


def event(content: Content, role: Role = Role.ASSISTANT, by: Person | None = None) -> Event:
    return Event(chat="c", turn="t", role=role, content=content, by=by)


def asks(text: str, id: str = "m1", by: Person | None = None) -> Event:
    return event(TextContent(text=text, content_id=id), Role.USER, by)


def says(text: str) -> Event:
    return event(TextContent(text=text))


def ran(output: str = "", *, error: bool = False, by: Person | None = None, **fields: Any) -> Event:
    values: dict[str, Any] = {**CALL, "error": error, "outputs": (TextOutput(text=output),) if output else (), **fields}
    return event(ToolCalledContent(**values), by=by)


def blocks(*events: Event, title: str = "A chat") -> list[str]:
    """The blocks of the document, without its title."""
    text = format_chat(title, events)
    assert text.startswith(f"# {title}\n")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    return text.removeprefix(f"# {title}").strip("\n").split("\n\n")


def test_messages_and_answers_have_headings_which_are_not_repeated() -> None:
    assert blocks(asks("Hi\n"), says("Hello, "), says("Ada."), says("\n"), asks("Again"), asks("And again", "m2")) == [
        *("## You", "Hi", "## Assistant", "Hello, Ada.", "## You", "Again", "And again"),
    ]


def test_the_title_is_one_line() -> None:
    assert format_chat("a\n b", ()) == "# a b\n"


def test_people_who_are_told_apart_have_headings_of_their_own() -> None:
    found = blocks(asks("Hi", by=ADA), asks("Ho", "m2", Person(username="bob", name="Bob")), asks("Hm", "m3"))
    assert found == ["## Ada \\*L\\*", "Hi", "## Bob", "Ho", "## You", "Hm"]


def test_what_the_system_says_is_a_quote_below_what_was_before_it() -> None:
    system = event(TextContent(text="Stopped.\n\nReally."), Role.SYSTEM)
    assert format_chat("A", (asks("Hi"), system, asks("Ho"))).endswith("Hi\n\n> Stopped.\n>\n> Really.\n\nHo\n")


def test_an_answer_is_rated_below_it_and_the_last_rating_counts() -> None:
    def rate(id: str, rating: AnswerRating | None) -> Event:
        return event(RatingContent(content_id=id, rating=rating), Role.SYSTEM)

    found = blocks(
        *(asks("Hi"), says("One."), rate("m1", AnswerRating.BAD), asks("Ho", "m2"), says("Tw")),
        *(rate("m1", AnswerRating.GOOD), says("o."), rate("m2", AnswerRating.BAD), asks("Hm", "m3")),
        *(says("Three."), rate("m3", AnswerRating.GOOD), rate("m3", None)),
    )
    assert found[3:5] == ["One.", "*Rating of this answer: good*"]
    assert found[6:10] == ["Ho", "## Assistant", "Two.", "*Rating of this answer: bad*"]
    assert found[-1] == "Three."


def test_the_cost_of_the_chat_is_at_its_end_for_each_who_has_cost_something() -> None:
    def usage(cost: str | None, agent: str | None = None) -> Event:
        content = UsageContent(
            session_tokens=1, message_input_tokens=1, message_output_tokens=1, last_message_cost=cost, agent=agent
        )
        return event(content, Role.SYSTEM)

    costs = (usage("0.25"), usage(None), usage("0.5"), usage("2", "Bob"), usage("0", "Eve"))
    assert blocks(asks("Hi"), *costs)[2:] == ["---", "Cost: 0.75 USD\nCost: 2.00 USD, as Bob says"]
    assert blocks(asks("Hi"), usage(None)) == ["## You", "Hi"]


@pytest.mark.parametrize(
    ("run", "by", "error", "words"),
    [
        (None, None, False, "allowed without a question"),
        ({"manual_approval": True}, None, False, "approved"),
        ({"manual_approval": True}, ADA, False, "approved by Ada \\*L\\*"),
        ({"manual_approval": False}, ADA, True, "allowed without a question, failed"),
        ({"manual_approval": False, "cause": Cause(kind="unasked", agent="Bob")}, None, False, "Bob did not ask"),
        ({"manual_approval": False, "cause": Cause(kind="unasked")}, None, False, "the agent did not ask"),
        ({"manual_approval": False, "cause": Cause(kind="trust")}, None, False, "allowed without a question"),
    ],
)
def test_a_call_says_who_has_allowed_it_and_whether_it_failed(
    run: dict[str, Any] | None, by: Person | None, error: bool, words: str
) -> None:
    before = () if run is None else (event(ToolCallRunContent(**CALL, **run)),)
    assert blocks(*before, ran(error=error, by=by)) == ["## Assistant", f"**act** ({words})"]


def test_a_call_that_waited_for_another_one_was_asked_about_all_the_same() -> None:
    runs = (event(ToolCallRunContent(**CALL, manual_approval=manual)) for manual in (True, False))
    assert blocks(*runs, ran())[-1] == "**act** (approved)"


@pytest.mark.parametrize("reason", list(RejectReason))
def test_a_call_that_did_not_run_says_so(reason: RejectReason) -> None:
    rejected = ToolCallRejectedContent(**CALL, reason=reason)
    (_, anonymous), (_, by_ada) = blocks(event(rejected)), blocks(event(rejected, by=ADA))
    assert "not run" in anonymous
    assert ("rejected by Ada \\*L\\*" in by_ada) is (reason is RejectReason.USER)


def test_a_call_has_its_summary_its_arguments_and_its_output() -> None:
    assert blocks(ran("One.\nTwo.\n", summary="Acts  on\n*x*", arguments={"a": "ä"})) == [
        "## Assistant",
        "**act**: Acts on \\*x\\* (allowed without a question)",
        '```json\n{\n  "a": "ä"\n}\n```',
        "```\nOne.\nTwo.\n```",
    ]


@pytest.mark.parametrize(
    ("details", "shown"),
    [
        (ShellCommandDetails(commands=(), line="ls -l"), "```sh\nls -l\n```"),
        (
            ShellCommandDetails(
                commands=(ShellCommandPart(command="a", args=("b", "c")), ShellCommandPart(command="d", args=()))
            ),
            "```sh\na b c d\n```",
        ),
        (
            FileChangeDetails(path="a`.py", diff="-x\n+y\n", lines_added=1, lines_removed=2),
            "`` a`.py ``, lines: +1 -2\n\n```diff\n-x\n+y\n```",
        ),
        (
            RunCellsDetails(path="a.ipynb", cells=(ShownCell(number=3, id="x", source="1 + 1"),)),
            "`a.ipynb`\n\n```python\n# %% cell 3\n1 + 1\n```",
        ),
        (
            TaskDetails(
                tasks=(
                    Task(id="1", subject="look", status=TaskStatus.DONE),
                    Task(id="2", subject="*act*", status=TaskStatus.IN_PROGRESS),
                    Task(id="3", subject="test"),
                ),
                summary=TaskSummary(done=1, in_progress=1, pending=1, total=3),
            ),
            "- [x] look\n- [ ] \\*act\\* (in progress)\n- [ ] test",
        ),
        (SubagentDetails(agent_name="ada", step=1, model="m"), "Subagent: `ada`"),
    ],
)
def test_a_call_shows_what_it_does(details: Any, shown: str) -> None:
    text = format_chat("A", (ran(details=details, summary="Does it", arguments={"hidden": 1}),))
    assert text.endswith(f"\n\n{shown}\n")
    assert ("Does it" in text) is not isinstance(details, ShellCommandDetails)
    assert "hidden" not in text


def test_a_long_output_is_folded_and_no_output_ends_its_block() -> None:
    short, long = "\n".join("x" * 24), "\n".join("x" * 25)
    assert "<details>" not in format_chat("A", (ran(short),))
    folded = format_chat("A", (ran(long),))
    assert f"<details><summary>Output</summary>\n\n```\n{long}\n```\n\n</details>" in folded
    assert blocks(ran("````"))[-1] == "`````\n````\n`````"
    assert blocks(ran("`` x"))[-1] == "```\n`` x\n```"


@pytest.mark.parametrize(
    ("type", "data", "is_shown"),
    [
        ("image/png", "AAAA", True),
        ("image/svg+xml", "AA==\n", True),
        ("text/html", "AAAA", False),
        ("image/png)", "AAAA", False),
        ("image/png", "AA)A", False),
    ],
)
def test_a_picture_is_in_the_document_unless_it_could_change_its_look(type: str, data: str, is_shown: bool) -> None:
    (_, shown) = blocks(event(ImageContent(media_type=type, base64=data)))
    assert shown.startswith(f"![Picture](data:{type};base64,{data.strip()}") is is_shown
    assert is_shown or f"`{type}`" in shown


def test_links_and_flags_are_shown_and_a_title_cannot_lead_elsewhere() -> None:
    link = UrlContent(title="A](https://evil.org) [b", url="https://example.org")
    flag = event(FlagContent(text="Here", content_id="m1"), Role.SYSTEM)
    assert blocks(event(link), flag) == [
        "## Assistant",
        "[A\\](https://evil.org) \\[b](https://example.org)",
        "> Flag: Here",
    ]


ANSWER = "See:\n\n```python\nx = 1\n\ny = 2\n```\nand\n\n```sh\nls\n```\n\n```Py3 \nz\n```"


def test_python_of_an_answer_becomes_cells_and_all_else_is_text() -> None:
    assert make_cells("A", (asks("```python\nmine\n```"), says(ANSWER), ran("```python\ntheirs\n```"))) == [
        ("markdown", "# A\n\n## You\n\n```python\nmine\n```\n\n## Assistant\n\nSee:"),
        ("code", "x = 1\n\ny = 2"),
        ("markdown", "and\n\n```sh\nls\n```"),
        ("code", "z"),
        ("markdown", "**act** (allowed without a question)\n\n````\n```python\ntheirs\n```\n````"),
    ]


def test_blanks_at_the_edges_of_a_text_are_kept_and_empty_lines_are_not() -> None:
    cells = make_cells("A", (says("\n  X\n\n```python\nx\n```\n\n  X\n"), asks("\n  X\n"), asks("Y", "m2")))
    assert cells == [
        ("markdown", "# A\n\n## Assistant\n\n  X"),
        ("code", "x"),
        ("markdown", "  X\n\n## You\n\n  X\n\nY"),
    ]
    outputs = (TextOutput(text="\n  X"), TextOutput(text="X\n"))
    assert format_chat("A", (ran(outputs=outputs),)).endswith("```\n  X\nX\n```\n")
    details = FileChangeDetails(path="a", diff="+x  \n\n", lines_added=1, lines_removed=0)
    assert format_chat("A", (ran(details=details),)).endswith("```diff\n+x  \n```\n")


def test_each_kind_of_long_block_is_folded_under_a_title_of_its_own() -> None:
    long = "\n".join("x" * 30)
    cells = (ShownCell(number=1, id="x", source=long),)
    calls = (
        ran(long),
        ran(details=ShellCommandDetails(commands=(), line=long)),
        ran(details=FileChangeDetails(path="a", diff=long, lines_added=1, lines_removed=0)),
        ran(details=RunCellsDetails(path="a", cells=cells)),
        ran(arguments={str(number): number for number in range(30)}),
    )
    titles = [format_chat("A", (call,)).partition("<summary>")[2].partition("</summary>")[0] for call in calls]
    assert len({*titles, "", "None"}) == 7


def test_the_last_answer_is_rated_below_it() -> None:
    rated = event(RatingContent(content_id="m1", rating=AnswerRating.GOOD), Role.SYSTEM)
    assert blocks(asks("Hi"), says("One."), rated)[-1] == "*Rating of this answer: good*"


def test_an_answer_of_code_alone_makes_no_empty_cells() -> None:
    cells = make_cells("A", (says("```python\nx\n```\n```python\ny\n```"),))
    assert cells == [("markdown", "# A\n\n## Assistant"), ("code", "x"), ("code", "y")]
    assert make_cells("A", (says("a\n  ```python\nx\n  ```"),))[-1][0] == "markdown"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Why the Merge_2 loses rows?", "why-the-merge_2-loses-rows.md"),
        (f"{'a' * 39} b", f"{'a' * 39}.md"),
        ("a" * 50, f"{'a' * 40}.md"),
        ("été", "t.md"),
        ("X and X", "x-and-x.md"),
    ],
)
def test_a_title_makes_a_file_name_of_forty_characters_at_most(title: str, name: str) -> None:
    assert make_file_name(title) == name
