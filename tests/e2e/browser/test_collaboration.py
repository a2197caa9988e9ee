"""Several people and the assistant in one notebook, shared by jupyter-collaboration in a real JupyterLab."""

from __future__ import annotations

import importlib.util
import json
from contextlib import contextmanager, suppress
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import SECONDS, Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.review import AFTER, BEFORE, LINES, bar, edit, hunks, wait_for, write_at_the_end

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from playwright.sync_api import Browser, Page

    from tests.e2e.browser.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        importlib.util.find_spec("jupyter_server_ydoc") is None, reason="jupyter-collaboration is not installed"
    ),
]

# Where the environment of the tests has it turned off, this turns it on.
SERVER = {"ServerApp": {"jpserver_extensions": {"jupyter_server_ydoc": True, "jupyter_server_fileid": True}}}
PAGE = {"disabledExtensions": {"@jupyter/collaboration-extension": False, "@jupyter/docprovider-extension": False}}

SOURCES = ["x = 1", "# one:", "gone = 0", "print(x)", "# two:"]

# A cell is moved down only: JupyterLab itself loses the place of who types below one that somebody else moves up.
# What the model does; each with a word before it, so that somebody can type meanwhile.
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("notebook_read", {}),
    ("notebook_edit_cell", {"cell": "c0", "source": "x = 20\nx += 1"}),
    ("notebook_insert_cell", {"source": "y = x + 1", "after": "c0"}),
    ("notebook_delete_cell", {"cell": "c2"}),
    ("notebook_move_cell", {"cell": "c3", "index": 5}),
    ("notebook_run_cells", {"cells": ["c0", "c3"]}),
]
SAID = "I did all of it."

# The notebooks in which it works unasked.
ALLOWED = ("two", "other", "none")
REVIEW: list[dict[str, Any]] = [
    {"message": "^write", "result": "", "reply": [{"text": SAID}]},
    {"message": "^write", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}}]},
    {"message": "^change", "result": "", "reply": [{"text": SAID}]},
    {"message": "^change", "reply": [edit("c0", AFTER)]},
]

# Times that somebody types before it must have been said.
MOST = 1000


def rules(path: str) -> list[dict[str, Any]]:
    """`path` is also what the user says."""
    first, *rest = (
        {"reply": [{"text": "Well, now then. ", "chunk": 4, "delay": 0.1},
                   {"tool": tool, "arguments": arguments | {"path": path}}]}
        for tool, arguments in STEPS
    )  # fmt: skip
    done = {"reply": [{"text": SAID}]}
    after = zip(STEPS, [*rest, done], strict=True)
    return [{"message": path, "result": "", "tool": tool, **reply} for (tool, _), reply in after] + [
        {"message": path, **first}
    ]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "tools.json"
    script.write_text(json.dumps({"rules": [rule for name in ALLOWED for rule in rules(f"{name}.ipynb")] + REVIEW}))
    config = tmp_path_factory.mktemp("config")
    for name, content in (("jupyter_server_config.d/on.json", SERVER), ("labconfig/page_config.json", PAGE)):
        (config / name).parent.mkdir()
        (config / name).write_text(json.dumps(content))
    models = {"tools": {"script": str(script)}}
    paths = {"argsMatchers": {"path": [rf"({'|'.join(ALLOWED)})\.ipynb"]}}
    allow: dict[str, dict[str, Any]] = {tool: paths for tool, _ in STEPS}
    return LabSettings(
        env={"JUPYTER_CONFIG_PATH": str(config)},
        eca={
            "defaultModel": "scripted/tools",
            "providers": {"scripted": {"models": models}},
            "toolCall": {"approval": {"allow": allow}},
            "review": "after",
        },
    )


@contextmanager
def person(browser: Browser, *, with_us: bool = True) -> Generator[Page]:
    """A browser of one's own, in which JupyterLab may be without our part."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    if not with_us:
        page.route("**/extensions/jupyter-eca/**", lambda route: route.abort())
    try:
        yield page
    finally:
        keep(page, "person")
        context.close()


def joined(page: Page, lab: Lab, path: str, cells: int = len(SOURCES)) -> Notebook:
    """A notebook that is there already; its kernel is that of the first page, which waited for it."""
    page.goto(lab.address(path))
    notebook = Notebook(page, lab.root / path)
    notebook.wait_until(f"window.jupyterapp?.shell.currentWidget?.content?.widgets?.length === {cells}")
    return notebook


def type_until_done(panel: Panel, *places: tuple[Notebook, str]) -> list[str]:
    """Somebody types a number in each of these cells, again and again, while the assistant works; gives what these
    cells say then."""
    typed = [source for _, source in places]
    for notebook, source in places:
        notebook.page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").filter(has_text=source).click()
        notebook.page.keyboard.press("End")
    for n in count():
        for at, (notebook, _) in enumerate(places):
            notebook.page.keyboard.type(f" {n}")
            typed[at] += f" {n}"
        if SAID in panel.transcript.inner_text():
            return typed
        assert n < MOST, panel.transcript.inner_text()
    raise AssertionError("counting has no end")


def wait_for_file(notebook: Notebook, sources: Sequence[str]) -> None:
    """The server saves a second after the last change."""
    deadline = monotonic() + SECONDS
    while [source for _, source, _ in saved(notebook)] != list(sources):
        assert monotonic() < deadline, saved(notebook)
        notebook.page.evaluate("() => new Promise(requestAnimationFrame)")


def saved(notebook: Notebook) -> list[tuple[str, str, str]]:
    """Of each cell its id, source and output; nothing while the server writes the file."""
    with suppress(ValueError):
        return [
            (cell["id"], "".join(cell["source"]), "".join(line for out in cell["outputs"] for line in out["text"]))
            for cell in notebook.read()["cells"]
        ]
    return []


def done(one: str, two: str) -> list[str]:
    """What is in the notebook then, with what was typed in the two cells that the model leaves alone."""
    return ["x = 20\nx += 1", "y = x + 1", one, two, "print(x)"]


@pytest.mark.nightly
def test_two_people_type_while_the_assistant_works_in_their_notebook(browser: Browser, lab: Lab) -> None:
    with person(browser) as first, person(browser) as second:
        one = Notebook.open(first, lab, SOURCES, "two.ipynb")
        two = joined(second, lab, "two.ipynb")
        panel = Panel.show(first)
        panel.ask("two.ipynb")
        typed = type_until_done(panel, (one, SOURCES[1]), (two, SOURCES[4]))
        assert all(len(text) > len("# one: 0 1 2 3") for text in typed), "nobody typed while it worked"
        for notebook in (one, two):
            notebook.wait_for_sources(done(*typed))
            notebook.wait_for_output(4, "21")
        wait_for_file(one, done(*typed))
        assert saved(one)[4] == ("c3", "print(x)", "21\n")


@pytest.mark.nightly
def test_a_page_without_the_assistant_sees_what_is_asked_for_in_another_and_loses_nothing(
    browser: Browser, lab: Lab
) -> None:
    with person(browser, with_us=False) as first, person(browser) as second:
        one = Notebook.open(first, lab, SOURCES, "other.ipynb")
        assert not first.evaluate("() => window.jupyterapp.commands.hasCommand('eca:open-panel')")
        panel = Panel.open(second, lab)
        panel.ask("other.ipynb")
        (typed,) = type_until_done(panel, (one, SOURCES[1]))
        one.wait_for_sources(done(typed, SOURCES[4]))
        one.wait_for_output(4, "21")
        wait_for_file(one, done(typed, SOURCES[4]))
        assert saved(one)[4] == ("c3", "print(x)", "21\n")


@pytest.mark.nightly
def test_what_was_typed_in_a_page_that_is_closed_by_now_is_in_the_notebook_with_what_the_assistant_did(
    browser: Browser, lab: Lab
) -> None:
    with person(browser) as second:
        panel = Panel.open(second, lab)
        with person(browser) as first:
            one = Notebook.open(first, lab, SOURCES, "none.ipynb")
            first.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").filter(has_text=SOURCES[1]).click()
            first.keyboard.press("End")
            first.keyboard.type(" mine")
            one.wait_for_sources([SOURCES[0], f"{SOURCES[1]} mine", *SOURCES[2:]])
            wait_for_file(one, [SOURCES[0], f"{SOURCES[1]} mine", *SOURCES[2:]])
        panel.ask("none.ipynb")
        panel.sees(SAID, SECONDS)
        meant = done(f"{SOURCES[1]} mine", SOURCES[4])
        one.page = second
        wait_for_file(one, meant)
        again = joined(second, lab, "none.ipynb")
        again.wait_for_sources(meant)
        again.wait_for_output(4, "21")


@pytest.mark.nightly
def test_hunks_are_decided_in_one_page_while_another_types_in_the_same_cell_and_both_agree(
    browser: Browser, lab: Lab
) -> None:
    with person(browser) as first, person(browser) as second:
        one = Notebook.show(first, lab, [BEFORE, "y = 2"], "hunks.ipynb")
        panel = Panel.show(first)
        two = joined(second, lab, "hunks.ipynb", cells=2)
        write_at_the_end(two, 1, "y = 2", " # theirs")
        panel.ask("change it")
        panel.sees(SAID)
        wait_for(hunks(one, 0).get_by_role("button", name="Keep"), 2)
        two.wait_for_sources([AFTER, "y = 2 # theirs"])

        write_at_the_end(two, 0, "c = 3", " + 0")
        one.wait_for_sources([AFTER.replace("c = 3", "c = 3 + 0"), "y = 2 # theirs"])
        expect(hunks(one, 0).locator("pre")).to_have_text(["a = 1", "e = 5"])
        hunks(one, 0).first.get_by_role("button", name="Undo").click()
        half = ["\n".join([*LINES[:2], "c = 3 + 0", "d = 4", "e = 50"]), "y = 2 # theirs"]
        two.wait_for_sources(half)
        write_at_the_end(two, 0, "c = 3 + 0", " + 1")
        both = [half[0].replace("c = 3 + 0", "c = 3 + 0 + 1"), half[1]]
        one.wait_for_sources(both)
        wait_for(hunks(one, 0), 1)
        # Undone by who decided it, and by nobody else: what the other has typed stays.
        one.cell(0).locator(".cm-line").first.click()
        first.keyboard.press("Control+z")
        for notebook in (one, two):
            notebook.wait_for_sources([both[0].replace("a = 1\n", "a = 10\n"), both[1]])
        hunks(one, 0).last.get_by_role("button", name="Undo").click()
        wait_for(bar(one, 0), 0)
        end = ["\n".join(["a = 10", "b = 2", "c = 3 + 0 + 1", "d = 4", "e = 5"]), "y = 2 # theirs"]
        for notebook in (one, two):
            notebook.wait_for_sources(end)
        wait_for_file(one, end)


def test_what_waits_in_a_cell_is_decided_by_another_in_the_panel(browser: Browser, lab: Lab) -> None:
    with person(browser) as first, person(browser) as second:
        notebook = Notebook.open(first, lab, ["%load_ext jupyter_eca", "%%eca\nwrite a file"], "cell.ipynb")
        theirs, panel = joined(second, lab, "cell.ipynb", 2), Panel.show(second)
        # With an empty box the panel would show the chat at once.
        panel.box.fill("half a thought")
        notebook.run(0)
        notebook.wait_until_run(0)
        notebook.run(1)
        notebook.wait_for_output(1, "waits for your approval")
        theirs.wait_for_output(1, "decide in the panel of the assistant")
        expect(panel.node.get_by_text("A question in cell.ipynb waits for you.")).to_be_visible()
        panel.button("Show it").click()
        panel.button("Approve").click()
        for each in (notebook, theirs):
            each.wait_for_output(1, SAID)
