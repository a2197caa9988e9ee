"""`%eca` and `%%eca` as source, judged by compiling it and by IPython's own transformations around ours."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from jupyter_eca.apps.kernel.transform import FUNCTION_NAME, transform


def shell_transforms(cell: str) -> str:
    manager: Any = TransformerManager()  # only partly typed
    manager.cleanup_transforms.append(transform)
    return manager.transform_cell(cell)


def calls(cell: str) -> list[tuple[Any, ...]]:
    """The arguments of all calls of ours in what IPython would run."""
    source = shell_transforms(cell)
    compile(source, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return [
        tuple(ast.literal_eval(argument) for argument in node.value.args)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Await)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == FUNCTION_NAME
    ]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%eca\nhello\nworld", [("", "hello\nworld\n")]),
        ("%%eca", [("", "")]),
        ("%%eca\n", [("", "")]),
        ("\n\n%%eca -m a/b -> x\nhello", [("-m a/b -> x", "hello\n")]),
        ("%%eca  what is this?\n\n  indented\n", [("what is this?", "\n  indented\n")]),
        ("%%eca\n%eca stays text\n%%time", [("", "%eca stays text\n%%time\n")]),
        ("%eca hello", [("hello",)]),
        ("%eca", [("",)]),
        ("%eca -m a/b what is this?", [("-m a/b what is this?",)]),
        (
            "%eca status\n%eca it's \"here\nx = 1\n%eca (open\n%eca last",
            [("status",), ("it's \"here",), ("(open",), ("last",)],
        ),
        ('%eca what does """ mean\n%eca and this', [('what does """ mean',), ("and this",)]),
        ("!echo it's\n%eca hello", [("hello",)]),
        ("if True:\n    x = 1\n    %eca hello\nelse:\n    %eca bye", [("hello",), ("bye",)]),
        ("for i in range(2):\n\t%eca hello", [("hello",)]),
        ("x = 1\r\n%eca hello\r\n", [("hello",)]),
    ],
)
def test_a_question_becomes_an_awaited_call(cell: str, expected: list[tuple[str, ...]]) -> None:
    assert calls(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        'text = """\n%eca hello\n"""',
        "text = '%eca hello'",
        "# %eca hello",
        "f(\n  1,\n)\nx = 5 \\\n%eca",
        "x = (5\n%eca)",
        "x = 5 %eca",
        "%%time\n%eca hello",
        "%%ecab\nhello",
        "%%eca_x\nhello",
        "%ecab hello",
        "%ecaé hello",
        "%%eca?",
        "%eca?",
        "x = 1\n%%eca\nhello",
        "",
        "\n\n",
    ],
)
def test_what_is_no_question_is_left_alone(cell: str) -> None:
    lines = cell.splitlines(keepends=True)
    assert transform(lines) == lines


def test_a_question_mark_behind_the_name_asks_ipython_for_help() -> None:
    assert shell_transforms("%eca?") == "get_ipython().run_line_magic('pinfo', '%eca')\n"


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=("Cs",))))
def test_every_character_of_a_body_survives(body: str, line: str) -> None:
    lines = [f"%%eca {line}\n", *body.splitlines(keepends=True)]
    (source,) = transform(lines)
    assert ast.literal_eval(source.removeprefix(f"await {FUNCTION_NAME}")) == (line.strip(), body)


@given(st.text(alphabet="%eca'\"\\{}()[]#é😀 \t", max_size=40))
def test_every_character_of_a_line_survives(line: str) -> None:
    assert calls(f"%eca {line}\nx = 1\n%eca last") == [(line.strip(),), ("last",)]


def test_the_source_runs_as_a_coroutine() -> None:
    code = compile(shell_transforms("%eca hello"), "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert code.co_flags & inspect.CO_COROUTINE
