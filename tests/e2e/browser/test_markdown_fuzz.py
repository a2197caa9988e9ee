"""Random Markdown and damaged attacks in a real page: what a widget makes of them runs nothing and loads nothing.

Both sanitisers are tried alone, too: a gap in one of them must do no harm. The second one is also that of the panel. A
seed gives the same text each time.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.fuzz.mutation import Mutation
from tests.fuzz.targets import MARKDOWN

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser

LABEXTENSION: Final = Path(__file__).parents[3] / "labextension"
SAMPLE, NIGHTLY, AT_ONCE = 10_000, 200_000, 2_000
# What runs in a page tells it so.
RUN: Final = "run()"
DEFINE_RUN: Final = "() => { window.run = () => { window.hasRun = true; }; }"
ATTACKS: Final = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}><desc></desc></svg>",
    f"[a](javascript:{RUN})",
    f"<a href='java&#115;cript:{RUN}'>a</a>",
    f"<iframe srcdoc='<script>top.{RUN}</script>'>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RUN}></style></mglyph></table></mtext></math>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<details open ontoggle={RUN}>a</details>",
    f"<form><button formaction='javascript:{RUN}'>a</button></form>",
    f"<object data='data:text/html,{RUN}'></object>",
    f"![a](https://evil.example/a.png)\n\n$<img src=x onerror={RUN}>$",
    "<style>@import 'https://evil.example/'</style>",
    f"<svg><a xlink:href='javascript:{RUN}'><text>a</text></a></svg>",
    f"<base href='javascript:{RUN}//'>",
    f"<template><img src=x onerror={RUN}></template>",
    f"<input autofocus onfocus={RUN}>",
    "<a id=cookie name=body>",
    f"| <img src=x onerror={RUN}> |\n|---|\n| `<b>` |",
    f"```html\n<script>{RUN}</script>\n```",
    f"<!--><img src=x onerror={RUN}>-->",
)
SAMPLES: Final = (*MARKDOWN, *(attack.encode() for attack in ATTACKS))


@pytest.fixture(scope="module")
def script() -> str:
    """Our own modules, bundled as those of a widget are."""
    command = ["node_modules/.bin/esbuild", "test/support/find_harm.ts", "--bundle", "--format=iife"]
    made = subprocess.run(command, cwd=LABEXTENSION, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout


def open_page(page: Page, script: str) -> list[str]:
    """Open a page in which `findHarm` works. Return the list of the addresses that it requests."""
    requested: list[str] = []

    def refuse(route: Route) -> None:
        requested.append(route.request.url)
        route.abort()

    page.route("**/*", refuse)
    page.set_content("<body></body>")
    page.evaluate(DEFINE_RUN)
    page.add_script_tag(content=script)
    return requested


def find_harm(page: Page, script: str, first: int, count: int) -> dict[int, str]:
    """What is wrong, by seed."""
    open_page(page, script)
    found: dict[int, str] = {}
    for start in range(first, first + count, AT_ONCE):
        seeds = range(start, min(start + AT_ONCE, first + count))
        texts = [Mutation(seed).damage(SAMPLES).decode("utf-8", "replace") for seed in seeds]
        harms: list[str] = page.evaluate("texts => texts.map(text => window.findHarm(text))", texts)
        found |= {seed: harm for seed, harm in zip(seeds, harms, strict=True) if harm}
    return found


def test_random_markdown_runs_and_loads_nothing_in_a_page(page: Page, script: str) -> None:
    assert find_harm(page, script, 0, SAMPLE) == {}


@pytest.mark.nightly
def test_very_much_random_markdown_runs_and_loads_nothing_in_a_page(page: Page, script: str) -> None:
    assert find_harm(page, script, SAMPLE, NIGHTLY) == {}


def test_an_attack_that_nothing_sanitises_is_found(page: Page, script: str) -> None:
    """The page of these tests does run and load what it is given."""
    requested = open_page(page, script)
    page.evaluate("html => { document.body.innerHTML = html; }", f"<img src=https://evil.example/ onerror={RUN}>")
    page.wait_for_function("window.hasRun")
    assert requested == ["https://evil.example/"]
    result: Any = page.evaluate("window.findHarm('x')")
    assert result == "widget: a script ran"
