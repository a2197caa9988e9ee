"""What the configuration says of hooks, and which of them are for a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config as read_config
from jupyter_eca.host.hooks import Hook, HookType, list_inputs, parse_hooks
from tests.config.files import trusting

if TYPE_CHECKING:
    from pathlib import Path

RUN = [{"type": "shell", "shell": "true"}]
BAD: list[tuple[Any, str]] = [
    ([], "it is not an object"),
    ({"actions": RUN}, "type: Field required"),
    ({"type": "later", "actions": RUN}, "type: Input should be"),
    ({"type": "chatStart"}, "actions: Field required"),
    ({"type": "chatStart", "actions": []}, "actions: Tuple should have at least 1 item"),
    ({"type": "chatStart", "actions": [{"shell": "a", "file": "b"}]}, "either a `shell` or a `file`"),
    ({"type": "chatStart", "actions": [{}]}, "either a `shell` or a `file`"),
    ({"type": "chatStart", "actions": [{"type": "lisp", "shell": "a"}]}, "actions.0.type: Input should be"),
    ({"type": "chatStart", "actions": [{"shell": "a", "timeout": -1}]}, "timeout: Input should be greater"),
    ({"type": "preToolCall", "actions": RUN, "matcher": "("}, "its matcher is not a regular expression"),
    ({"type": "preToolCall", "actions": RUN, "matcher": {"a": {"argsMatchers": {"b": ["("]}}}}, "not a regular"),
]
CALL = {"server": "eca", "tool_name": "write_file", "tool_input": {"path": "a/b.clj", "count": 3}, "error": False}


def hook(type: str = "preToolCall", **more: Any) -> Hook:
    return parse_hooks({"one": {"type": type, "actions": RUN, **more}})[0][0]


def test_hooks_run_in_the_order_of_their_names() -> None:
    found, refused = parse_hooks({name: {"type": "chatStart", "actions": RUN} for name in ("b", "c", "a")})
    assert ([one.name for one in found], refused) == (["a", "b", "c"], ())


@pytest.mark.parametrize(("older", "today"), [("prePrompt", "preRequest"), ("postPrompt", "postRequest")])
def test_an_older_name_of_a_moment_is_todays(older: str, today: str) -> None:
    assert hook(older).type == today


@pytest.mark.parametrize(("written", "why"), BAD)
def test_a_bad_hook_costs_itself_alone_and_says_why(written: Any, why: str) -> None:
    found, refused = parse_hooks({"bad": written, "good": {"type": "chatStart", "actions": RUN}})
    assert [one.name for one in found] == ["good"]
    assert [one.name for one in refused] == ["bad"]
    assert why in refused[0].why


@pytest.mark.parametrize(
    ("matcher", "expected"),
    [
        (None, True),
        ("eca__.*", True),
        ("eca__write_file", True),
        ("write_file", False),
        ({"eca__write_file": {}}, True),
        ({"write_file": {}}, True),
        ({"eca": {}}, True),
        ({"docs": {}}, False),
        ({"write_file": {"argsMatchers": {"path": [".*\\.py", ".*\\.clj"]}}}, True),
        ({"write_file": {"argsMatchers": {"path": [".*\\.clj"], "count": ["4"]}}}, False),
        ({"write_file": {"argsMatchers": {"count": ["3"]}}}, True),
        ({"write_file": {"argsMatchers": {"other": [".*"]}}}, False),
    ],
)
def test_a_matcher_chooses_calls_by_tool_and_arguments(matcher: Any, expected: bool) -> None:
    assert bool(list_inputs(hook(matcher=matcher), HookType.PRE_TOOL_CALL, CALL)) is expected


def test_a_tool_of_another_server_has_no_bare_name() -> None:
    call = {**CALL, "server": "docs"}
    assert not list_inputs(hook(matcher={"write_file": {}}), HookType.PRE_TOOL_CALL, call)
    assert list_inputs(hook(matcher={"docs__write_file": {}}), HookType.PRE_TOOL_CALL, call)


@pytest.mark.parametrize(("runs_on_error", "expected"), [(False, False), (True, True)])
def test_a_call_that_failed_is_only_for_those_that_ask_for_it(runs_on_error: bool, expected: bool) -> None:
    failed = {**CALL, "error": True}
    assert (
        bool(list_inputs(hook("postToolCall", runOnError=runs_on_error), HookType.POST_TOOL_CALL, failed)) is expected
    )


@pytest.mark.parametrize(("matcher", "expected"), [(None, True), ("auto", True), ("manual", False)])
def test_a_compaction_is_matched_by_what_began_it(matcher: str | None, expected: bool) -> None:
    assert (
        bool(list_inputs(hook("preCompact", matcher=matcher), HookType.PRE_COMPACT, {"triggered": "auto"})) is expected
    )


def test_other_moments_have_no_matcher() -> None:
    assert list_inputs(hook("preRequest", matcher="nothing at all ("), HookType.PRE_REQUEST, {})


def test_a_hook_knows_the_file_it_is_from_and_a_file_cannot_pretend_another(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    own, theirs = home / "eca" / "config.json", project / ".eca" / "config.json"
    for path, name in ((own, "mine"), (theirs, "its")):
        path.parent.mkdir(parents=True)
        path.write_text(
            f'{{"hooks": {{"{name}": {{"type": "chatStart", "actions": [{{"shell": "x"}}], "source": "me"}}}}}}'
        )
    found, _ = parse_hooks(read_config([project], home=home, environment={}, trust=trusting(project)).hooks)
    assert {one.name: (one.source, one.folder) for one in found} == {
        "mine": (str(own), str(own.parent)),
        "its": (str(theirs), str(theirs.parent)),
    }
