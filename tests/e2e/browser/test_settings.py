"""The assistant's settings in a real JupyterLab: servers, keys, rules and jobs, as a user manages them."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

import pytest
from playwright.sync_api import expect

from jupyter_eca.config.jsonc import parse
from jupyter_eca.plugins.providers.scripted import Script
from tests.config.test_credentials import holding
from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.host.commands.test_granting import CODE, OpenRouter
from tests.plugins.providers.ask import KEY as ROUTER_KEY
from tests.support.anthropic_server import Fault, LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab
    from tests.support.anthropic_server import Recorded

pytestmark = pytest.mark.browser

_THEME: Final = "() => window.jupyterapp.commands.execute('apputils:change-theme', {{ theme: 'JupyterLab {}' }})"
DARK: Final = _THEME.format("Dark")
LIGHT: Final = _THEME.format("Light")
KEY: Final = "sk-ant-the-users-own"
# The first key that is tried has the vendor's SDK imported, which takes long beside other work.
FIRST_KEY_SECONDS: Final = 90
WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "new.txt", "content": "x"}}
DRAFT: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "draft.txt", "content": "x"}}
WAIT: dict[str, Any] = {
    "tool": "shell_command",
    "arguments": {"command": "echo ready; exec sleep 1000", "background": True},
}
RULES: list[dict[str, Any]] = [
    {"message": "write", "result": "", "times": 1, "reply": [WRITE]},
    {"message": "write", "reply": [WRITE]},
    {"message": "draft", "reply": [DRAFT, DRAFT]},
    {"message": "wait", "reply": [WAIT]},
    {"result": "", "reply": [{"text": "That is done."}]},
    {"message": "one", "reply": [{"text": "That is done."}]},
]


@pytest.fixture(scope="module")
def vendor() -> Iterator[LoopbackAnthropic]:
    hello = {"rules": [{"message": "", "reply": [{"text": "Hello"}]}]}
    with LoopbackAnthropic(Script.model_validate(hello), key=KEY) as server:
        yield server


class Router(OpenRouter):
    """Its page of the sign-in, too, with a user who says yes or no at once."""

    says_yes = False

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        path, _, query = asked.path.partition("?")
        if path != "/auth":
            return super().answered(asked)
        told = parse_qs(query)
        self.challenge = told["code_challenge"][0]
        answer = {"code": CODE} if self.says_yes else {"error": "access_denied"}
        return Fault(302, headers={"Location": f"{told['callback_url'][0]}&{urlencode(answer)}"}, plain=True), ()


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with Router([], models=["some/model"], key=ROUTER_KEY) as server:
        yield server


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackAnthropic, router: Router) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "settings.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"settings": {"script": str(script)}}
    house = {"api": "anthropic", "url": vendor.url, "models": {"claude-opus-5-5": None}}
    providers = {"scripted": {"models": models}, "house": house, "openrouter": {"url": f"{router.url}/api/v1"}}
    eca = {"defaultModel": "scripted/settings", "providers": providers}
    return LabSettings(eca=eca)


def manage(page: Page, section: str) -> Locator:
    page.evaluate("section => window.jupyterapp.commands.execute('eca:open-settings', { section })", section)
    body = page.locator(".eca-Settings-body")
    expect(body).to_be_visible(timeout=SECONDS * 1000)
    return body


def mine(lab: Lab) -> Path:
    return lab.root.parent / "home" / ".config" / "eca" / "config.json"


def test_a_server_is_added_a_tool_of_it_switched_off_its_log_read_and_it_is_removed(page: Page, lab: Lab) -> None:
    Panel.open(page, lab).button("Settings of the assistant").click()
    sections = page.locator(".eca-Settings").get_by_role("tab")
    expect(sections.first).to_have_attribute("aria-selected", "true", timeout=SECONDS * 1000)
    sections.filter(has_text="MCP servers").click()
    body = page.locator(".eca-Settings-body")
    body.get_by_role("button", name="Add a server…").click(timeout=SECONDS * 1000)
    program = shlex.join([sys.executable, str(Path("tests/mcp_client/raw_server.py").resolve()), "good"])
    form = body.locator("form")
    form.get_by_label("Name").first.fill("my docs/1")
    form.get_by_label("Command", exact=True).fill(f'sh -c "echo up and well >&2; exec {program}"')
    form.get_by_role("button", name="Add", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("only letters, digits, dots, hyphens and underscores")
    form.get_by_label("Name").first.fill("docs")
    keep(page, "settings-1-add")
    form.get_by_role("button", name="Add", exact=True).click()
    card = body.get_by_role("listitem", name="docs", exact=True)
    expect(card.locator(".eca-Badge")).to_have_text("running", timeout=SECONDS * 1000)
    assert parse(mine(lab).read_text())["mcpServers"]["docs"]["command"] == "sh"

    card.get_by_role("button", name="Tools").click()
    switch = card.get_by_role("checkbox").first
    expect(switch).to_be_checked()
    switch.click()
    expect(switch).not_to_be_checked(timeout=SECONDS * 1000)
    (off,) = parse(mine(lab).read_text())["disabledTools"]
    assert off.startswith("docs__")
    card.get_by_role("button", name="Log").click()
    expect(card.get_by_label("Log of docs")).to_contain_text("stderr: up and well", timeout=SECONDS * 1000)
    keep(page, "settings-2-server")

    # Each says by its tooltip what it does, and until when.
    for name in ("Stop", "Disable", "Remove"):
        expect(card.get_by_role("button", name=name, exact=True)).to_have_attribute(
            "title", re.compile(r"^Stop the server.+")
        )
    card.get_by_role("button", name="Stop", exact=True).click()
    expect(card.locator(".eca-Badge")).to_have_text("stopped", timeout=SECONDS * 1000)
    card.get_by_role("button", name="Remove", exact=True).click()
    card.get_by_role("button", name="Remove permanently").click()
    expect(card).to_have_count(0, timeout=SECONDS * 1000)
    assert parse(mine(lab).read_text())["mcpServers"] == {}


def test_a_default_a_budget_a_changed_server_and_a_new_rule_are_written_to_the_files_that_are_named(
    page: Page, lab: Lab
) -> None:
    Panel.open(page, lab)
    body = manage(page, "defaults")
    expect(body).to_contain_text("~/.config/eca/config.json", timeout=SECONDS * 1000)
    body.get_by_label("Model of completions", exact=True).select_option("scripted/settings")
    body.get_by_role("button", name="Save: Model of completions").click()
    expect(body.get_by_role("button", name="Save: Model of completions")).to_be_disabled(timeout=SECONDS * 1000)
    expect(body.get_by_role("status").filter(has_text="Saved.")).to_have_count(1)
    expect(body.get_by_label("Model of completions", exact=True)).to_be_focused()
    body.get_by_label("Budget of a day, in US dollars", exact=True).fill("2.5")
    body.get_by_label("Budget of a day, in US dollars", exact=True).press("Enter")
    expect(body.get_by_role("button", name="Save: Budget of a day")).to_be_disabled(timeout=SECONDS * 1000)
    keep(page, "settings-10-defaults")
    written = parse(mine(lab).read_text())
    assert (written["completion"], written["budget"]) == ({"model": "scripted/settings"}, {"perDay": 2.5})
    body.get_by_label("Budget of a day, in US dollars", exact=True).fill("")
    body.get_by_role("button", name="Save: Budget of a day").click()
    expect(body.get_by_role("button", name="Save: Budget of a day")).to_be_disabled(timeout=SECONDS * 1000)
    assert "perDay" not in parse(mine(lab).read_text())["budget"]

    body = manage(page, "servers")
    body.get_by_role("button", name="Add a server…").click()
    program = [sys.executable, str(Path("tests/mcp_client/raw_server.py").resolve())]
    form = body.locator("form")
    form.get_by_label("Name").first.fill("notes")
    form.get_by_label("Command", exact=True).fill(shlex.join([*program, "no-such-kind"]))
    form.get_by_label("Environment").fill("MARK=kept")
    form.get_by_role("button", name="Add", exact=True).click()
    card = body.get_by_role("listitem", name="notes", exact=True)
    card.get_by_role("button", name="Edit…").click(timeout=SECONDS * 1000)
    line = card.get_by_label("Command", exact=True)
    expect(line).to_have_value(shlex.join([*program, "no-such-kind"]))
    line.fill(shlex.join([*program, "good"]))
    card.get_by_label("Environment").fill("MORE=typed")
    keep(page, "settings-11-edit")
    card.get_by_role("button", name="Save", exact=True).click()
    expect(line).to_have_count(0, timeout=SECONDS * 1000)
    expect(card.locator(".eca-Badge")).to_have_text("running", timeout=SECONDS * 1000)
    entry = parse(mine(lab).read_text())["mcpServers"]["notes"]
    assert (entry["args"][-1], entry["env"]) == ("good", {"MARK": "kept", "MORE": "typed"})

    body = manage(page, "rules")
    # What stands above the button comes later, and moves it.
    expect(body.get_by_label("Edits of cells and files", exact=True)).to_be_visible(timeout=SECONDS * 1000)
    body.get_by_role("button", name="Add a rule…").click(timeout=SECONDS * 1000)
    form = body.get_by_role("form", name="A new rule")
    form.get_by_label("Tool").fill("eca__shell_command")
    form.get_by_label("Argument (empty: every call)").fill("command")
    form.get_by_label("Pattern").fill("git (")
    form.get_by_label("is forbidden").check()
    expect(form).to_contain_text("A call of eca__shell_command in which command matches git ( will be forbidden.")
    form.get_by_role("button", name="Add the rule").click()
    expect(form.get_by_role("alert")).to_contain_text("not a regular expression", timeout=SECONDS * 1000)
    form.get_by_label("Pattern").fill("git push.*")
    keep(page, "settings-12-rule")
    form.get_by_role("button", name="Add the rule").click()
    expect(body.get_by_role("status").filter(has_text="The rule was written to .eca/config.json.")).to_be_visible(
        timeout=SECONDS * 1000
    )
    config = lab.root / ".eca" / "config.json"
    assert parse(config.read_text())["toolCall"]["approval"]["deny"] == {
        "eca__shell_command": {"argsMatchers": {"command": ["git push.*"]}}
    }
    body.get_by_role("button", name="Edit the rule eca__shell_command").click()
    form = body.get_by_role("form", name="The rule eca__shell_command")
    expect(form.get_by_label("Tool")).to_have_value("eca__shell_command")
    expect(form.get_by_label("is forbidden")).to_be_checked()
    form.get_by_label("needs approval").check()
    form.get_by_role("button", name="Another argument or pattern").click()
    form.get_by_label("Argument 2").fill("command")
    form.get_by_label("Pattern 2").fill("git fetch.*")
    keep(page, "settings-13-rule-changed")
    form.get_by_role("button", name="Save the rule").click()
    expect(form).to_have_count(0, timeout=SECONDS * 1000)
    expect(body.get_by_role("list", name="Needs approval", exact=True)).to_contain_text("git push.* | git fetch.*")
    keep(page, "settings-14-rule-written")
    assert parse(config.read_text())["toolCall"]["approval"] == {
        "deny": {},
        "ask": {"eca__shell_command": {"argsMatchers": {"command": ["git push.*", "git fetch.*"]}}},
    }
    remove = body.get_by_role("button", name="Remove the rule eca__shell_command")
    assert remove.evaluate("button => button.offsetWidth * 2 < button.parentElement.offsetWidth")
    remove.click()
    expect(remove).to_have_count(0)
    expect(body.get_by_role("status").filter(has_text="The rule for eca__shell_command was removed.")).to_be_visible()
    config.unlink()


def test_a_rule_is_tried_on_what_was_called_before_it_is_added_for_the_notebook_in_front(page: Page, lab: Lab) -> None:
    Notebook.open(page, lab, ["x = 1"], name="rules.ipynb")
    panel = Panel.show(page)
    body = manage(page, "rules")
    expect(body.get_by_label("Edits of cells and files", exact=True)).to_be_visible(timeout=SECONDS * 1000)
    body.get_by_role("button", name="Add a rule…").click(timeout=SECONDS * 1000)
    form = body.get_by_role("form", name="A new rule")
    attempt = form.get_by_role("button", name="Try it on recent calls")
    expect(attempt).to_be_disabled()
    form.get_by_label("Tool").fill("bg_job")
    attempt.click()
    expect(form).to_contain_text("Your chats have no call of this tool yet.", timeout=SECONDS * 1000)
    keep(page, "settings-15-no-call")

    panel.ask("draft")
    waiting = panel.call("waiting")
    waiting.first.get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    expect(waiting).to_have_count(1, timeout=SECONDS * 1000)
    waiting.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Control+Backspace")
    panel.wait_until_idle()
    form.get_by_label("Tool").fill("write_file")
    form.get_by_label("Argument (empty: every call)").fill("path")
    form.get_by_label("Pattern").fill("draft.*")
    form.get_by_label("runs without asking").check()
    attempt.click()
    rows = form.get_by_role("row")
    expect(rows.filter(has_text="was rejected").first).to_contain_text("runs without asking", timeout=SECONDS * 1000)
    expect(rows.filter(has_text="was approved").first).to_contain_text("runs without asking")
    form.locator("select").select_option("the notebook rules.ipynb")
    expect(rows).to_have_count(0)
    attempt.click()
    expect(rows.filter(has_text="of the notebook rules.ipynb")).to_have_count(2, timeout=SECONDS * 1000)
    expect(form).to_contain_text("The rule matches 2 of the newest 2 calls of this tool.")
    expect(rows.last).to_be_in_viewport()
    keep(page, "settings-16-tried")

    form.get_by_role("button", name="Add the rule").click()
    expect(body.get_by_role("status").filter(has_text="The rule was added for rules.ipynb.")).to_be_visible(
        timeout=SECONDS * 1000
    )
    expect(body.get_by_role("list", name="Runs without asking")).to_contain_text("only in rules.ipynb")
    assert not (lab.root / ".eca" / "config.json").exists()
    panel.ask("draft")
    panel.wait_until_idle()
    expect(panel.call("done")).to_have_count(3)
    call = panel.call("done").last
    call.get_by_role("button").first.click()
    expect(call).to_contain_text("Allowed by the rule write_file of the notebook rules.ipynb")
    keep(page, "settings-17-allowed")
    body.get_by_role("button", name="Remove the rule write_file").click()
    expect(body.get_by_role("button", name="Remove the rule write_file")).to_have_count(0)


def test_an_agent_is_added_tried_changed_and_deleted_and_its_file_is_named(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    body = manage(page, "agents")
    body.get_by_role("button", name="Add an agent…").click(timeout=SECONDS * 1000)
    form = body.get_by_role("form", name="A new agent")
    form.get_by_label("Name").fill("../up")
    form.get_by_role("button", name="Add the agent").click()
    expect(form.get_by_role("alert")).to_contain_text("only small letters")
    form.get_by_label("Name").fill("reviewer")
    form.get_by_label("What it is for").fill("Reviews notebooks.")
    form.get_by_label("System prompt").fill("You review.")
    form.get_by_label("Tools that it does not have").fill("eca__write_file")
    keep(page, "settings-15-agent")
    form.get_by_role("button", name="Add the agent").click()
    card = body.get_by_role("listitem", name="reviewer", exact=True)
    expect(card).to_contain_text(".eca/agents/reviewer.md", timeout=SECONDS * 1000)
    file = lab.root / ".eca" / "agents" / "reviewer.md"
    assert file.read_text() == (
        "---\nmode: primary\ndescription: Reviews notebooks.\ndisabledTools: [eca__write_file]\n---\n\nYou review.\n"
    )
    keep(page, "settings-16-agents")

    card.get_by_role("button", name="Try the agent reviewer").click()
    expect(panel.box).to_be_focused(timeout=SECONDS * 1000)
    expect(panel.node.get_by_label("Agent", exact=True)).to_contain_text("reviewer", timeout=SECONDS * 1000)

    card.get_by_role("button", name="Edit the agent reviewer").click()
    form = card.get_by_role("form", name="The agent reviewer")
    expect(form.get_by_label("System prompt")).to_have_value("You review.")
    form.get_by_label("What it is for").fill("Reviews.")
    keep(page, "settings-17-agent-changed")
    file.write_text(file.read_text().replace("You review.", "You look."))
    form.get_by_role("button", name="Save the agent").click()
    expect(form.get_by_role("alert")).to_contain_text("has changed since it was shown", timeout=SECONDS * 1000)
    form.get_by_role("button", name="Cancel").click()
    body = manage(page, "rules")
    body = manage(page, "agents")
    card.get_by_role("button", name="Edit the agent reviewer").click(timeout=SECONDS * 1000)
    expect(form.get_by_label("System prompt")).to_have_value("You look.")
    form.get_by_label("What it is for").fill("Reviews.")
    form.get_by_role("button", name="Save the agent").click()
    expect(form).to_have_count(0, timeout=SECONDS * 1000)
    assert "description: Reviews.\n" in file.read_text()

    page.evaluate(DARK)
    expect(page.locator("body[data-jp-theme-light=false]")).to_have_count(1, timeout=SECONDS * 1000)
    keep(page, "settings-18-agents-dark")
    page.evaluate(LIGHT)
    card.get_by_role("button", name="Delete", exact=True).click()
    card.get_by_role("button", name="Delete the file permanently").click()
    expect(card).to_have_count(0, timeout=SECONDS * 1000)
    assert not file.exists()


def test_the_settings_are_used_between_both_sidebars_of_a_page_that_is_enlarged_to_200_percent(
    page: Page, lab: Lab
) -> None:
    # A window of 1920 by 1080 points has half as many when the page is enlarged to twice its size.
    page.set_viewport_size({"width": 960, "height": 540})
    panel = Panel.open(page, lab)
    expect(page.locator("#jp-left-stack .jp-FileBrowser")).to_be_visible()
    for section in ("defaults", "servers", "providers", "rules", "agents", "skills", "jobs", "costs", "report"):
        body = manage(page, section)
        expect(panel.node).to_be_visible()
        expect(body.get_by_role("heading", level=1)).to_be_visible(timeout=SECONDS * 1000)
        expect(body.get_by_text("Loading…")).to_have_count(0, timeout=SECONDS * 1000)
        keep(page, f"settings-23-enlarged-{section}")
        cut_off = page.locator(".eca-Settings").evaluate(
            """settings => [...settings.querySelectorAll('button, input, select, textarea, h1, p')].filter(node => {
              const box = node.getBoundingClientRect();
              const frame = settings.getBoundingClientRect();
              return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1) &&
                node.closest('.eca-Hidden') === null;
            }).map(node => node.outerHTML.slice(0, 120))"""
        )
        assert cut_off == [], section
    body = manage(page, "skills")
    body.get_by_role("button", name="Add a skill…").click()
    form = body.get_by_role("form", name="A new skill")
    form.get_by_label("Name").fill("enlarged")
    form.get_by_label("What it does").fill("Shows that it can be done.")
    form.get_by_role("button", name="Add the skill").click()
    card = body.get_by_role("listitem", name="enlarged", exact=True)
    card.get_by_role("button", name="Delete", exact=True).click()
    card.get_by_role("button", name="Delete the file permanently").click()
    expect(card).to_have_count(0)


def test_a_skill_is_added_read_as_the_model_gets_it_changed_in_its_file_and_deleted(page: Page, lab: Lab) -> None:
    Panel.open(page, lab)
    body = manage(page, "skills")
    body.get_by_role("button", name="Add a skill…").click(timeout=SECONDS * 1000)
    form = body.get_by_role("form", name="A new skill")
    form.get_by_label("Name").fill("Tidy Tables")
    form.get_by_label("What it does").fill("Tidies tables.")
    form.get_by_role("button", name="Add the skill").click()
    expect(form.get_by_role("alert")).to_contain_text("only small letters")
    form.get_by_label("Name").fill("tidy")
    form.get_by_label("Instructions").fill("Drop what is empty.")
    keep(page, "settings-19-skill")
    form.get_by_role("button", name="Add the skill").click()
    card = body.get_by_role("listitem", name="tidy", exact=True)
    link = card.get_by_role("button", name=".eca/skills/tidy/SKILL.md")
    expect(link).to_be_visible(timeout=SECONDS * 1000)
    file = lab.root / ".eca" / "skills" / "tidy" / "SKILL.md"
    assert file.read_text() == "---\nname: tidy\ndescription: Tidies tables.\n---\n\nDrop what is empty.\n"

    card.get_by_role("button", name="What the model gets").click()
    preview = card.get_by_label("What the model gets of the skill tidy")
    expect(preview).to_contain_text("Drop what is empty.", timeout=SECONDS * 1000)
    keep(page, "settings-20-skills")

    # The file is hidden, so Lab alone would not open it. It is saved by the keys of Lab.
    link.click()
    editor = page.locator(".jp-FileEditor .cm-content")
    expect(editor).to_contain_text("Drop what is empty.", timeout=SECONDS * 1000)
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Rename nothing.")
    keep(page, "settings-21-skill-in-the-editor")
    page.keyboard.press("Control+s")
    manage(page, "skills")
    expect(preview).to_contain_text("Rename nothing.", timeout=SECONDS * 1000)
    assert file.read_text().endswith("\nDrop what is empty.\nRename nothing.")

    card.get_by_role("button", name="Edit the skill tidy").click()
    form = card.get_by_role("form", name="The skill tidy")
    expect(form.get_by_label("Instructions")).to_have_value("Drop what is empty.\nRename nothing.")
    form.get_by_label("What it does").fill("Tidies.")
    form.get_by_role("button", name="Save the skill").click()
    expect(form).to_have_count(0, timeout=SECONDS * 1000)
    assert "description: Tidies.\n" in file.read_text()
    page.evaluate(DARK)
    expect(page.locator("body[data-jp-theme-light=false]")).to_have_count(1, timeout=SECONDS * 1000)
    keep(page, "settings-22-skills-dark")
    page.evaluate(LIGHT)
    card.get_by_role("button", name="Delete", exact=True).click()
    card.get_by_role("button", name="Delete the file permanently").click()
    expect(card).to_have_count(0, timeout=SECONDS * 1000)
    assert not file.parent.exists()


@pytest.mark.nightly
def test_a_key_is_typed_in_the_provider_becomes_usable_and_the_page_keeps_nothing_of_it(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    body = manage(page, "providers")
    card = body.get_by_role("listitem", name="house", exact=True)
    card.get_by_role("button", name="paste a key…").click(timeout=SECONDS * 1000)
    field = card.get_by_label("API key (kept in memory only: it is gone when this server ends)")
    field.fill("wrong")
    card.get_by_role("button", name="Sign in", exact=True).click()
    expect(card.get_by_role("alert")).to_contain_text("did not take this key", timeout=FIRST_KEY_SECONDS * 1000)
    expect(field).to_have_value("")
    field.fill(KEY)
    card.get_by_role("button", name="Sign in", exact=True).click()
    expect(card.locator(".eca-Badge")).to_have_text("signed in", timeout=SECONDS * 1000)
    expect(card).to_contain_text("or set HOUSE_API_KEY in the environment.")
    keep(page, "settings-3-signed-in")
    stored = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    assert KEY not in stored + page.content()
    assert not any(KEY in file.read_text() for file in (lab.root.parent / "config").rglob("*.jupyterlab-settings"))
    assert holding(lab.root.parent, KEY) == []
    expect(panel.node.get_by_label("Model", exact=True)).to_contain_text(
        "house/claude-opus-5-5", timeout=SECONDS * 1000
    )
    card.get_by_role("button", name="Sign out").click()
    expect(card.locator(".eca-Badge")).not_to_have_text("signed in", timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_a_user_signs_in_at_the_vendors_own_page_and_the_settings_tell_when_it_went_well_and_when_not(
    page: Page, lab: Lab, router: Router
) -> None:
    Panel.open(page, lab)
    body = manage(page, "providers")
    card = body.get_by_role("listitem", name="OpenRouter", exact=True)
    sign_in = card.get_by_role("group", name="Sign in to OpenRouter")

    def go() -> Page:
        card.get_by_role("button", name="paste a key…").click(timeout=SECONDS * 1000)
        expect(sign_in.get_by_role("button", name="Enter an API key")).to_be_visible(timeout=SECONDS * 1000)
        expect(sign_in.get_by_role("button", name="Sign in in the browser")).to_be_focused()
        sign_in.get_by_role("button", name="Sign in in the browser").click()
        link = sign_in.get_by_role("link", name="Open the sign-in page")
        expect(link).to_be_visible(timeout=SECONDS * 1000)
        expect(sign_in.get_by_role("textbox")).to_have_count(0)
        with page.context.expect_page(timeout=SECONDS * 1000) as opened:
            link.click()
        return opened.value

    expect(go().get_by_role("heading")).to_have_text("Not signed in", timeout=SECONDS * 1000)
    expect(sign_in.get_by_role("alert")).to_contain_text("access_denied", timeout=SECONDS * 1000)
    keep(page, "settings-8-said-no")
    expect(card.locator(".eca-Badge")).not_to_have_text("signed in")
    sign_in.get_by_role("button", name="Cancel").click()

    router.says_yes = True
    away = go()
    expect(away.get_by_role("heading")).to_have_text("Signed in", timeout=FIRST_KEY_SECONDS * 1000)
    assert away.evaluate("window.opener") is None
    # Nobody has to say that it went well.
    expect(sign_in).to_have_count(0, timeout=SECONDS * 1000)
    expect(card.locator(".eca-Badge")).to_have_text("signed in")
    keep(page, "settings-9-came-back")
    stored = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    assert not any(secret in stored + page.content() + lab.log.read_text() for secret in (ROUTER_KEY, CODE))
    card.get_by_role("button", name="Sign out").click()
    expect(card.locator(".eca-Badge")).not_to_have_text("signed in", timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_always_writes_a_rule_and_the_next_call_is_not_asked_and_a_job_is_seen_and_ended(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    status = page.locator(".eca-StatusItem")
    expect(status).to_have_text("Assistant: settings", timeout=SECONDS * 1000)
    panel.ask("write")
    call = panel.call("waiting")
    call.get_by_role("button", name="Always…").click(timeout=SECONDS * 1000)
    rule = call.get_by_role("group", name="A rule for such calls")
    beside = '"eca__write_file": { "argsMatchers": { "path": [ "[^/]*" ] } }'  # of the file's own folder
    expect(rule).to_contain_text(beside, timeout=SECONDS * 1000)
    expect(status).to_contain_text("waits for you")
    config = lab.root / ".eca" / "config.json"
    assert not config.exists(), "nothing is written before it is seen"
    keep(page, "settings-4-always")
    rule.get_by_role("button", name="Write the rule and run").click()
    panel.sees("That is done.")
    panel.wait_until_idle()
    expect(panel.call("done")).to_have_count(2)
    written = {"eca__write_file": {"argsMatchers": {"path": ["[^/]*"]}}}
    assert parse(config.read_text()) == {"toolCall": {"approval": {"allow": written}}}
    expect(panel.node.locator(".eca-Always-written")).to_have_text(
        "Rule eca__write_file written to .eca/config.json Undo"
    )
    body = manage(page, "rules")
    own = body.get_by_role("button", name="Remove the rule eca__write_file")
    expect(own).to_be_visible(timeout=SECONDS * 1000)
    keep(page, "settings-5-rules")
    panel.button("Undo").click()
    expect(own).to_have_count(0, timeout=SECONDS * 1000)
    assert parse(config.read_text()) == {"toolCall": {"approval": {"allow": {}}}}

    panel.ask("wait")
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    panel.wait_until_idle()
    body = manage(page, "jobs")
    job = body.get_by_role("listitem", name="echo ready; exec sleep 1000")
    job.get_by_role("button", name="Output").click(timeout=SECONDS * 1000)
    expect(job.locator("pre")).to_have_text("ready", timeout=SECONDS * 1000)
    keep(page, "settings-6-jobs")
    job.get_by_role("button", name="Stop the job").click()
    expect(job.locator(".eca-Badge")).to_have_text("stopped by you", timeout=SECONDS * 1000)
    costs = manage(page, "costs")
    expect(costs.get_by_role("row", name="This chat")).to_be_visible(timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_labs_own_settings_choose_side_key_and_chips_and_a_message_is_flagged(page: Page, lab: Lab) -> None:
    chosen = lab.root.parent / "config" / "lab" / "user-settings"
    files = {
        chosen / "jupyter-eca" / "plugin.jupyterlab-settings": {"side": "left", "sendKey": "Shift+Enter"},
        chosen / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings": {"theme": "JupyterLab Dark"},
    }
    for file, settings in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    panel = Panel.open(page, lab)
    expect(page.locator("#jp-left-stack .eca-Panel")).to_have_count(1, timeout=SECONDS * 1000)
    panel.box.fill("one")
    panel.box.press("Enter")
    expect(panel.box).to_have_value("one\n")
    panel.box.press("Shift+Enter")
    panel.sees("That is done.")
    panel.wait_until_idle()
    panel.message("one").hover()
    panel.button("Flag this message").click()
    panel.node.get_by_label("Text of the flag").fill("from here on")
    panel.button("Set the flag").click()
    flag = panel.node.locator(".eca-Flag", has_text="from here on")
    expect(flag).to_be_visible(timeout=SECONDS * 1000)
    manage(page, "servers")
    keep(page, "settings-7-dark")
    flag.get_by_role("button", name="Remove the flag").click()
    expect(flag).to_have_count(0, timeout=SECONDS * 1000)
    for file in files:
        file.unlink()
