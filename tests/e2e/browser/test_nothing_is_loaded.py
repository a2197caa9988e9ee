"""Nothing that a model wrote is loaded from anywhere before the reader clicks: in the panel, in a cell, in the widget.

A page that loads an address sends it along, and the model may have written into it what it knows of the workspace.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.listener import Listener, running_listener
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

# Each names an address of the listener (`URL`) in another way.
DIAGRAMS = {
    "a picture in a label": "graph TD\nA[\"<img src='URL/label'>\"]-->B",
    "a picture as a shape": 'graph TD\nA@{ img: "URL/shape", label: "x", pos: "t", w: 60, h: 60 }\nA-->B',
    "a link": 'graph TD\nA-->B\nclick A "URL/link"',
    "a theme with a style": "%%{init: {'themeCSS': '.node { background: url(URL/theme) } @import url(URL/import);'}}%%"
    "\ngraph TD\nA-->B",
    "a variable of the theme": "%%{init: {'themeVariables': {'primaryColor': 'url(URL/variable)'}}}%%\ngraph TD\nA-->B",
    "a font": "%%{init: {'fontFamily': 'x} @import url(URL/font); {'}}%%\ngraph TD\nA-->B",
    "a style of a class": "graph TD\nA-->B\nclassDef one fill:url(URL/class)\nclass A one",
    "settings at the top": "---\nconfig:\n  themeCSS: '@import url(URL/front);'\n---\ngraph TD\nA-->B",
    "entities": 'graph TD\nA["#lt;img src=URL/entity#gt;"]-->B',
    "a style in a label": "graph TD\nA[\"<b style='background:url(URL/style)'>x</b>\"]-->B",
}
OTHERS = """![a picture](URL/markdown) <img src="URL/html"> <img srcset="URL/srcset 1x">

[a definition]: URL/definition
![with a definition][a definition]

<link rel="stylesheet" href="URL/sheet"><style>@import url(URL/imported); * { background: url(URL/background) }</style>
<p style="background: url(URL/inline)">x</p>
<svg><image href="URL/svg"/><style>@import url(URL/svgstyle);</style></svg>
<video poster="URL/poster" src="URL/video"></video><audio src="URL/audio"></audio><object data="URL/object"></object>
<iframe src="URL/frame"></iframe><embed src="URL/embed"><input type="image" src="URL/input">
<table background="URL/table"><tr><td>x</td></tr></table><body background="URL/body">
<math><mtext><img src="URL/math"></mtext></math>
<base href="URL/base"><meta http-equiv="refresh" content="0;url=URL/refresh"><link rel="dns-prefetch" href="URL/dns">
<link rel="preload" as="image" href="URL/preload"><link rel="prerender" href="URL/prerender">
<link rel="icon" href="URL/icon">
<picture><source srcset="URL/source 1x"><img src="URL/picture"></picture>
<iframe srcdoc="<img src='URL/srcdoc'>"></iframe>
<svg><use href="URL/use#a"/><foreignObject><img src="URL/foreign"></foreignObject><feImage href="URL/feimage"/></svg>
<svg><script href="URL/svgscript"></script><a href="URL/svglink"><set attributeName="href" to="URL/set"/></a></svg>
<template><img src="URL/template"></template><noscript><img src="URL/noscript"></noscript>
<!--><img src="URL/comment">-->
<math><mtext><table><mglyph><style><img src="URL/mxss"></style></mglyph></table></mtext></math><track src="URL/track">
<form action="URL/form"><button formaction="URL/button">x</button></form><a href="URL/a" ping="URL/ping">x</a>
<p style="background: image-set('URL/imageset' 1x); cursor: url(URL/cursor), auto; content: url(URL/content)">x</p>
<div style="list-style-image: url(URL/list); border-image: url(URL/border) 1; mask: url(URL/mask)">x</div>
<img src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Cimage href='URL/datasvg'/%3E%3C/svg%3E">

![an attachment](attachment:URL/attachment) ![of this server](/files/x.png) ![without slashes](http:URL/slashes)
[![in a link](URL/inlink)](URL/around) <URL/bare> URL/plain

```vega-lite
{"data": {"url": "URL/vega"}, "mark": "bar"}
```

```geojson
{"type": "Feature", "properties": {"image": "URL/geojson"}}
```

```html
<img src="URL/fence">
```

$\\href{URL/href}{x}$ $\\includegraphics{URL/includegraphics}$ $\\style{background-image:url(URL/texstyle)}{x}$
$\\style{list-style-image:url(URL/texlist)}{x}$ $\\class{x}{y}$ $\\require{URL/require}$ $\\unicode{65}$
$\\mmlToken{mi}[style="background:url(URL/token)"]{x}$ $\\mathchoice{a}{b}{c}{d}$
"""


def as_blocks(source: str) -> str:
    """Return the diagram in blocks of code of every kind that Markdown knows."""
    plain = f"```mermaid\n{source}\n```"
    quoted = "\n".join(f"> {line}" for line in plain.splitlines())
    in_list = "\n".join(f"  {line}" for line in plain.splitlines()).replace("  ", "- ", 1)
    return "\n\n".join([plain, f"~~~~ mermaid\n{source}\n~~~~", quoted, in_list])


def hostile(url: str) -> str:
    """Return the answer in which every way to load something is tried."""
    return "\n\n".join([OTHERS, *map(as_blocks, DIAGRAMS.values()), "End of it."]).replace("URL", url)


@pytest.fixture(scope="module")
def module_listener() -> Iterator[Listener]:
    with running_listener() as listener:
        yield listener


@pytest.fixture
def listener(module_listener: Listener) -> Listener:
    module_listener.paths.clear()
    return module_listener


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, module_listener: Listener) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "hostile.json"
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "It is printed."}]},
        {
            "message": "print",
            "reply": [
                {
                    "tool": "shell_command",
                    "arguments": {
                        "command": f"echo '<img src={module_listener.url}/result>' # <img src={module_listener.url}/x>"
                    },
                }
            ],
        },
        {"message": "flow", "reply": [{"text": "```mermaid\ngraph TD\nA[one<br>line]-->B\n```\n\nEnd of it."}]},
        {"message": "wrong", "reply": [{"text": "```mermaid\ngraph TD\nA[[[-->\n```\n\nEnd of it."}]},
        {"message": "", "reply": [{"text": hostile(module_listener.url)}]},
    ]
    script.write_text(json.dumps({"rules": rules}))
    models = {"hostile": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/hostile", "providers": {"scripted": {"models": models}}})


def assert_nothing_was_requested(page: Page, listener: Listener) -> None:
    """Have the page request something, so that whatever it requested before has arrived."""
    page.evaluate("url => fetch(url)", f"{listener.url}/last")
    assert listener.paths == ["/last"]


def test_the_panel_loads_nothing_of_an_answer_and_shows_diagrams_as_code(
    page: Page, lab: Lab, listener: Listener
) -> None:
    panel = Panel.open(page, lab)
    panel.ask("hostile")
    # Each of them is there when its part of the answer is completely rendered.
    expect(panel.node.get_by_role("button", name="Draw this diagram")).to_have_count(
        4 * len(DIAGRAMS), timeout=SECONDS * 1000
    )
    panel.sees("End of it.")
    expect(panel.node.locator("mjx-container")).not_to_have_count(0, timeout=SECONDS * 1000)
    assert_nothing_was_requested(page, listener)
    expect(panel.node.locator(".eca-Code", has_text="/label").first).to_contain_text("graph TD")


@pytest.mark.nightly
def test_the_panel_loads_nothing_of_a_title_a_tool_call_and_its_result(
    page: Page, lab: Lab, listener: Listener
) -> None:
    panel = Panel.open(page, lab)
    panel.ask(f"print <img src='{listener.url}/title'>")
    panel.button("Approve").click(timeout=SECONDS * 1000)
    panel.sees("It is printed.")
    panel.call("done").locator(".eca-Tool-head").click()
    expect(panel.call("done").get_by_role("group", name="Result")).to_contain_text("/result>")
    panel.button("All chats").click()
    expect(panel.node.locator(".eca-Chats-open").first).to_contain_text("/title")
    assert_nothing_was_requested(page, listener)


@pytest.mark.nightly
def test_a_diagram_is_drawn_when_the_reader_asks_for_it(page: Page, lab: Lab, listener: Listener) -> None:
    panel = Panel.open(page, lab)
    panel.ask("a flow chart")
    panel.button("Draw this diagram").click()
    expect(panel.node.locator("img.eca-Diagram")).to_be_visible(timeout=SECONDS * 1000)
    expect(panel.node.get_by_text("graph TD")).to_be_hidden()
    panel.button("Show the source").click()
    expect(panel.node.locator("img.eca-Diagram")).to_be_hidden()
    expect(panel.node.get_by_text("graph TD")).to_be_visible()
    assert_nothing_was_requested(page, listener)


@pytest.mark.nightly
def test_a_diagram_with_an_error_stays_code_and_says_so(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("a wrong chart")
    panel.button("Draw this diagram").click()
    expect(panel.node.get_by_text("This diagram has an error")).to_be_visible(timeout=SECONDS * 1000)
    expect(panel.node.get_by_text("graph TD")).to_be_visible()


@pytest.mark.nightly
def test_a_diagram_that_may_load_something_says_so_on_its_button(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("hostile")
    warned = panel.node.get_by_role("button", name="Draw this diagram (it may load data from the web)")
    expect(warned).to_have_count(4 * len(DIAGRAMS), timeout=SECONDS * 1000)


def test_a_cell_loads_nothing_of_an_answer(page: Page, lab: Lab, listener: Listener) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca hostile"], "hostile.ipynb")
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "End of it.")
    notebook.wait_until_run(1)
    assert_nothing_was_requested(page, listener)
    notebook.save()
    page.goto(lab.address("hostile.ipynb"))
    page.get_by_text("End of it.").first.wait_for(timeout=SECONDS * 1000)
    assert listener.paths == ["/last"]

    export = [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level", "ERROR", str(notebook.file)]
    subprocess.run(export, check=True)
    page.goto(notebook.file.with_suffix(".html").as_uri(), wait_until="commit")
    page.get_by_text("End of it.").first.wait_for(timeout=SECONDS * 1000)
    assert listener.paths == ["/last"]


@pytest.mark.nightly
def test_the_panel_in_a_cell_loads_nothing_of_an_answer(page: Page, lab: Lab, listener: Listener) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel"], "widget.ipynb")
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    panel = CellPanel(notebook, 1)
    panel.ask("hostile")
    panel.sees("End of it.")
    panel.wait_until_idle()
    assert_nothing_was_requested(page, listener)
