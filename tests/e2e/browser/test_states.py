"""Every state of the panel, the settings and the notebook: judged by axe-core in each theme, in a narrow panel, and
in another language."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.e2e.browser.axe import complaints
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.states import NARROW, PANEL, Tour, make_settings

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.e2e.browser.lab import Lab, LabSettings

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

SOURCES: Final = Path(__file__).parents[3] / "labextension" / "src"
THEME: Final = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
# Colours are not judged while they change, nor what only the mouse uncovers.
STILL: Final = "*, ::before, ::after { animation: none !important; transition: none !important; }"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return make_settings(tmp_path_factory.mktemp("script"))


class Findings:
    """What was found, with the states in which it was found."""

    def __init__(self) -> None:
        self.states: dict[str, list[str]] = {}

    def add(self, state: str, found: list[str]) -> None:
        for finding in found:
            self.states.setdefault(finding, []).append(state)

    def __str__(self) -> str:
        return "\n".join(f"{finding} (in: {', '.join(states)})" for finding, states in self.states.items())


def picture(page: Page, name: str) -> None:
    keep(page, "state-" + re.sub(r"\W+", "-", name))


def test_axe_finds_nothing_in_any_state_with_the_colours_of_the_system(page: Page, lab: Lab) -> None:
    page.emulate_media(forced_colors="active")
    test_axe_finds_nothing_in_any_state(page, lab, "JupyterLab Light")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_axe_finds_nothing_in_any_state(page: Page, lab: Lab, theme: str) -> None:
    findings = Findings()

    def judge(state: str, selector: str) -> None:
        if state == "welcome":
            page.evaluate(THEME, theme)
            page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
            page.add_style_tag(content=STILL)
        picture(page, f"{theme} {state}")
        findings.add(state, complaints(page, selector))

    Tour(page, lab, judge).go()
    assert not findings.states, str(findings)


# What is wider than its place: it makes the page scroll sideways, or is cut off without three dots. Code and tables
# scroll by themselves.
CUT_OFF: Final = """selector => [...document.querySelectorAll(selector)].flatMap(root => {
  const end = root.getBoundingClientRect().right + 1;
  const name = node => `${node.tagName}.${[...node.classList].join('.')} ${node.textContent.slice(0, 40)}`;
  const scrolls = node => node !== root && node !== null && root.contains(node) &&
    (['auto', 'scroll'].includes(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  return [root, ...root.querySelectorAll('*')].flatMap(node => {
    const { overflowX, textOverflow, display, clipPath } = getComputedStyle(node);
    if (!node.checkVisibility() || node.closest('svg, .eca-Hidden, mjx-container, .cm-editor .cm-scroller > *')) {
      return [];
    }
    const wide = node.scrollWidth > node.clientWidth + 1 && display !== 'inline' && node.clientWidth > 0;
    const hides = ['hidden', 'clip'].includes(overflowX) && textOverflow !== 'ellipsis';
    const own = node === root || (hides && !scrolls(node.parentElement));
    const beyond = node.getBoundingClientRect().right > end && !scrolls(node.parentElement);
    return (wide && own && overflowX !== 'visible') || beyond ? [name(node)] : [];
  });
})"""


@pytest.mark.parametrize("zoom", ["100 %", "200 %"])
def test_nothing_is_cut_off_in_a_narrow_panel(page: Page, lab: Lab, zoom: str) -> None:
    """At 200 %, the sidebar of the files is open, too, as long as no cell is looked at: there is no room for one."""
    findings = Findings()
    if zoom == "200 %":
        # A page of 1280 by 800 points has half as many of its own at this zoom.
        page.set_viewport_size({"width": 640, "height": 400})

    def judge(state: str, selector: str) -> None:
        if state == "welcome":
            page.evaluate(NARROW)
            page.wait_for_function("() => document.querySelector('.eca-Panel').clientWidth <= 320")
            assert page.locator(".jp-FileBrowser").is_visible()
        picture(page, f"{zoom} narrow {state}")
        findings.add(state, page.evaluate(CUT_OFF, selector))
        if state == "delete" and zoom == "200 %":
            page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")

    Tour(page, lab, judge).go()
    assert not findings.states, str(findings)


# -- another language

OPEN, CLOSE = "⟦", "⟧"
_TEXT = r"'((?:[^'\\]|\\.)*)'"
_CALL = re.compile(rf"\.(?:__|_n)\(\s*{_TEXT}(?:,\s*{_TEXT})?")


def collect_texts() -> dict[str, list[str]]:
    """Return the texts of the labextension in the language in which each stands in brackets, as Lab's server sends
    them."""
    texts: dict[str, list[str]] = {}
    for file in SOURCES.rglob("*.ts*"):
        for found in _CALL.finditer(file.read_text()):
            forms = [ast.literal_eval(f"'{form}'") for form in found.groups() if form is not None]
            texts[forms[0]] = [f"{OPEN}{form}{CLOSE}" for form in forms]
    return texts


def translate(route: Route) -> None:
    """Answer Lab's request for its language."""
    head = {"domain": "jupyter_eca", "language": "eo", "plural_forms": "nplurals=2; plural=(n != 1);"}
    data = {"jupyter_eca": {"": head, **collect_texts()}}
    route.fulfill(json={"data": data, "message": ""})


# What is shown and did not go through the translator, by where it comes from.
SERVER_MADE: Final = {
    # The texts of the model, of the server's welcome, and of its report.
    ".eca-Markdown",
    ".eca-Reason > *:not(summary)",
    # What a call does and what the server is doing now.
    ".eca-Tool-title",
    ".eca-Tool-origin",
    ".eca-Progress .eca-Shimmer",
    ".eca-Plan span",
    ".eca-PlanBar summary span:last-child",
    # The descriptions of commands, contexts and tools.
    ".eca-Completion [role=option]",
}
# Words that are the same in all languages, what the user has typed, and names in the configuration.
DATA: Final = (
    "ms min MB AM PM Ctrl Alt Shift Enter Backspace "
    "Hello an ode a colour some steps a secret endless a steer later more improve it Which Red larks Look at it Write "
    "tour ipynb scripted states ECA eca code plan Python shell_command action list read_output read output "
    "Anthropic Amazon Bedrock local smollm ollama Google Vertex AI Azure GitHub Copilot OpenAI LiteLLM OpenRouter "
    "DeepSeek Mistral LM Studio vLLM llama cpp"
)
UNTRANSLATED: Final = """([exempt, data]) => {
  const roots = '.eca-Panel, .eca-Settings, .eca-ReviewBar, .eca-CellBar, .eca-Hunk, .eca-Help, .eca-CellEdit, '
    + '.eca-StatusItem, [data-command^="eca:"]';
  const known = new Set(data.split(' '));
  const clean = text => {
    const shorter = text.replace(/⟦[^⟦⟧]*⟧/g, ' ');
    return shorter === text ? text : clean(shorter);
  };
  const words = text => (clean(text).match(/\\p{L}{2,}/gu) ?? []).filter(word => !known.has(word));
  const skip = [...exempt, 'code', 'kbd', 'pre', 'svg', 'option', '.cm-content > :not(.eca-Hunk)'].join(', ');
  const found = [];
  for (const root of document.querySelectorAll(roots)) {
    for (const node of [root, ...root.querySelectorAll('*')]) {
      if (!node.checkVisibility() || node.closest(skip) !== null) continue;
      const texts = [...node.childNodes].filter(child => child.nodeType === Node.TEXT_NODE).map(({ data }) => data);
      for (const name of ['title', 'aria-label', 'placeholder', 'alt']) texts.push(node.getAttribute(name) ?? '');
      for (const text of texts) {
        if (words(text).length > 0) found.push(`${node.tagName}.${[...node.classList].join('.')}: ${text}`);
      }
    }
  }
  return found;
}"""


def test_every_text_of_ours_is_in_the_language_of_lab(page: Page, lab: Lab) -> None:
    page.route("**/api/translations/*", translate)
    findings = Findings()

    def judge(state: str, selector: str) -> None:
        if state in {"welcome", "review", "settings: servers"}:
            picture(page, f"translated {state}")
        assert page.locator(selector).first.is_visible(), state
        found: Any = page.evaluate(UNTRANSLATED, [sorted(SERVER_MADE), DATA])
        findings.add(state, found)

    Tour(page, lab, judge).go()
    assert page.locator(PANEL).get_by_text(OPEN).count() > 0, json.dumps(page.evaluate("() => document.title"))
    assert not findings.states, str(findings)
