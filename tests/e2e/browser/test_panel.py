"""The assistant's panel in a real JupyterLab: what a user asks there, allows, stops and finds again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel, links
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page, Response, WebSocketRoute

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

HOSTILE = """Look: <img src="http://127.0.0.1:9/x.png" alt="a cat" onerror="document.title='owned'">
<script>document.title='owned'</script>
<video src="http://127.0.0.1:9/v.mp4" autoplay></video>
<div class="jp-Dialog" style="position: fixed; inset: 0" id="main">a fake dialog</div>

<svg onload="document.title='owned'"><circle r="9"/></svg>

[a link](javascript:document.title='owned') and [a file](notes.md) and [a site](https://example.org/)
<form action="http://127.0.0.1:9/"><input type="password"><button>Sign in</button></form>

\u001b[31mred\u001b[0m
"""
CODE = "Try this:\n\n```python\nanswer = 42\n```\n\nThat is all."
WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "poem.txt", "content": "roses\n"}}
RULES: list[dict[str, Any]] = [
    {"result": "(?s)rejected this call.*too red", "reply": [{"text": "Too red, you say. I leave it."}]},
    {"result": "rejected", "reply": [{"text": "As you like."}]},
    {"result": "", "reply": [{"text": "The poem is written."}]},
    {"message": "poem", "reply": [{"reasoning": "Roses, then."}, {"text": "I write it. "}, WRITE]},
    {"message": "endless", "reply": [{"text": "on and " * 2000, "chunk": 7, "delay": 0.1}]},
    {"message": "hostile", "reply": [{"text": HOSTILE}]},
    {"message": "code", "reply": [{"text": CODE, "chunk": 4, "delay": 0.01}]},
    {"message": "long", "reply": [{"text": "word " * 2000 + "\n\nEnd of it.", "chunk": 5}]},
    {"message": "many", "reply": [{"text": "".join(f"Paragraph {n}.\n\n" for n in range(200))}]},
    {"message": "", "reply": [{"text": "You said: {message}", "chunk": 4, "delay": 0.02}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "panel.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"panel": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/panel", "providers": {"scripted": {"models": models}}})


def test_a_question_is_answered_and_the_chat_is_named_after_it(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("Hello there")
    panel.sees("You said: Hello there")
    panel.wait_until_idle()
    expect(panel.node.get_by_role("heading", name="Hello there")).to_be_visible()
    expect(panel.box).to_have_value("")
    expect(panel.box).to_be_focused()


def test_a_key_opens_the_panel_ready_to_be_typed_into(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    expect(panel.box).to_be_focused()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Control+Alt+i")
    expect(panel.box).to_be_focused()


@pytest.mark.nightly
def test_an_answer_streams_in_and_is_stopped(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("endless")
    panel.sees("on and on and")
    panel.button("Stop").click()
    panel.wait_until_idle()
    panel.ask("Still there?")
    panel.sees("You said: Still there?")


def test_a_call_that_is_approved_runs(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("Write a poem")
    expect(panel.call("waiting")).to_contain_text("poem.txt", timeout=SECONDS * 1000)
    assert not (lab.root / "poem.txt").exists()
    panel.button("Approve").click()
    panel.sees("The poem is written.")
    expect(panel.call("done")).to_have_count(1)
    assert (lab.root / "poem.txt").read_text() == "roses\n"
    (lab.root / "poem.txt").unlink()


@pytest.mark.nightly
def test_a_call_that_is_rejected_with_a_reason_does_not_run_and_the_model_is_told(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("Write a poem")
    panel.button("Reject…").click()
    reason = panel.node.get_by_role("textbox", name="Reason, sent to the assistant")
    reason.fill("too red")
    panel.button("All chats").click()
    panel.button("Back to the chat").click()
    expect(reason).to_have_value("too red")
    reason.press("Enter")
    panel.sees("Too red, you say.")
    expect(panel.call("rejected")).to_have_count(1)
    assert not (lab.root / "poem.txt").exists()


@pytest.mark.nightly
def test_a_chat_is_found_again_after_the_page_was_reloaded(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("Remember the parrot")
    panel.sees("You said: Remember the parrot")
    panel.wait_until_idle()
    page.reload()
    panel = Panel.show(page)
    panel.button("All chats").click()
    page.get_by_role("searchbox", name="Find a chat").fill("parrot")
    panel.node.locator(".eca-Chats-open").first.click()
    panel.sees("You said: Remember the parrot")


@pytest.mark.nightly
def test_a_call_that_waits_in_one_tab_is_decided_in_another(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("One more poem, for Ada")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    other = Panel.open(page.context.new_page(), lab)
    other.button("All chats").click()
    other.node.locator(".eca-Chats-open", has_text="for Ada").click()
    other.button("Reject…").click()
    expect(other.node.get_by_role("textbox", name="Reason, sent to the assistant")).to_be_focused()
    other.page.keyboard.press("Enter")
    other.sees("As you like.")
    panel.sees("As you like.")
    expect(panel.call("rejected")).to_have_count(1)


def test_a_connection_that_breaks_loses_and_doubles_nothing(page: Page, lab: Lab) -> None:
    routes = links(page)
    panel = Panel.open(page, lab)
    panel.ask("Show me code")
    panel.sees("Try")
    routes[-1].close()
    expect(panel.node.locator(".eca-Connection.eca-mod-lost")).to_have_count(1)
    panel.wait_until_connected()
    panel.sees("That is all.")
    panel.wait_until_idle()
    assert len(routes) == 2
    assert panel.node.locator(".eca-Answer").all_inner_texts() == ["Try this:\n\npython\nanswer = 42\n\nThat is all."]


def test_what_a_model_writes_is_inert(page: Page, lab: Lab) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    panel = Panel.open(page, lab)
    title = page.title()
    panel.ask("hostile")
    panel.sees("red")
    panel.wait_until_idle()
    answer = panel.node.locator(".eca-Answer")
    answer.get_by_text("a link").click()
    assert "owned" not in page.title()
    assert page.title() == title
    assert not [url for url in asked if ":9/" in url]
    for selector in ("script", "svg", "video", "form", "button", "input", "[style]", ".jp-Dialog", "#main"):
        assert answer.locator(f".eca-Piece {selector}").count() == 0, selector
    image = answer.get_by_role("link", name="Image, not loaded: a cat")
    expect(image).to_have_attribute("rel", "noopener")
    expect(image).to_have_attribute("referrerpolicy", "no-referrer")
    expect(answer.get_by_role("link", name="a site")).to_have_attribute("target", "_blank")
    assert "\u001b" not in answer.inner_text()


@pytest.mark.nightly
def test_a_link_to_a_file_opens_it_in_lab(page: Page, lab: Lab) -> None:
    (lab.root / "notes.md").write_text("The notes.")
    panel = Panel.open(page, lab)
    panel.ask("hostile")
    panel.node.get_by_role("link", name="a file").click()
    expect(page.get_by_role("tab", name="notes.md")).to_be_visible(timeout=SECONDS * 1000)


def test_code_goes_below_the_active_cell_and_one_step_takes_it_back(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "y = 2"], "insert.ipynb")
    panel = Panel.show(page)
    panel.ask("code")
    panel.sees("That is all.")
    panel.button("Insert below the active cell").click()
    assert notebook.sources() == ["x = 1", "answer = 42", "y = 2"]
    panel.button("Replace the active cell").click()
    assert notebook.sources() == ["x = 1", "answer = 42", "y = 2"]
    notebook.execute("notebook:undo-cell-action")
    assert notebook.sources() == ["x = 1", "y = 2"]
    panel.button("Run in a new cell below").click()
    notebook.wait_until_run(1)
    assert notebook.sources() == ["x = 1", "answer = 42", "y = 2"]


@pytest.mark.nightly
def test_where_the_user_is_goes_along_until_it_is_switched_off(page: Page, lab: Lab) -> None:
    sent: list[dict[str, Any]] = []

    def heard(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def on_message(text: str | bytes) -> None:
            message = json.loads(text)
            if message.get("method") == "chat/prompt":
                sent.append(message["params"])
            server.send(text)

        route.on_message(on_message)

    page.route_web_socket("**/eca/ws*", heard)
    Notebook.open(page, lab, ["x = 1", "y = 2"], "around.ipynb")
    panel = Panel.show(page)
    panel.ask("first")
    panel.sees("You said: first")
    panel.wait_until_idle()
    panel.node.locator(".eca-Chip").click()
    panel.ask("second")
    panel.sees("You said: second")
    (around,) = sent[0]["contexts"]
    assert around.pop("cell")
    spot = {"line": 0, "character": 0}
    assert around == {"type": "cursor", "path": "around.ipynb", "position": {"start": spot, "end": spot}}
    assert "contexts" not in sent[1]


@pytest.mark.nightly
def test_the_transcript_follows_until_the_reader_scrolls_away(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("many paragraphs")
    panel.sees("Paragraph 199.")
    panel.wait_until_idle()
    expect(panel.node.get_by_text("Paragraph 199.")).to_be_in_viewport()
    panel.transcript.hover()
    page.mouse.wheel(0, -600)
    expect(panel.button("Jump to the end")).to_be_visible()
    panel.button("Jump to the end").click()
    expect(panel.node.get_by_text("Paragraph 199.")).to_be_in_viewport()
    panel.ask("endless")
    panel.sees("on and")
    panel.transcript.hover()
    page.mouse.wheel(0, -1500)
    expect(panel.node.get_by_text("on and")).not_to_be_in_viewport()
    panel.button("Jump to the end").click()
    expect(panel.node.get_by_text("on and")).to_be_in_viewport()
    panel.button("Stop").click()


@pytest.mark.nightly
def test_a_long_answer_does_not_hold_up_the_page(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    page.evaluate(
        """() => {
          window.longest = 0;
          new PerformanceObserver(list => {
            for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
          }).observe({ type: 'longtask' });
        }"""
    )
    panel.ask("A long answer")
    panel.sees("End of it.")
    panel.wait_until_idle()
    # The budget is 100 ms on a machine of its own; what is to be caught here is work that grows with the answer.
    assert page.evaluate("window.longest") < 500


# Keeps what would be called when the browser has nothing else to do, until it is asked for.
HOLD_IDLE = "() => { window.idle = []; window.requestIdleCallback = call => window.idle.push(call); }"


def test_the_modules_of_the_panel_are_loaded_when_lab_is_idle_and_the_panel_when_it_is_shown(
    page: Page, lab: Lab
) -> None:
    loaded: list[Response] = []

    def on_response(response: Response) -> None:
        if "/extensions/jupyter-eca/static/" in response.url:
            loaded.append(response)

    def count_bytes() -> int:
        return sum(len(response.body()) for response in loaded)

    page.on("response", on_response)
    page.add_init_script(f"({HOLD_IDLE})()")
    page.goto(lab.address(""))
    page.wait_for_function("() => window.jupyterapp?.commands?.hasCommand('eca:open-panel')", timeout=SECONDS * 1000)
    page.evaluate("() => window.jupyterapp.restored")
    before = count_bytes()
    with page.expect_response("**/extensions/jupyter-eca/static/**"):
        page.evaluate("() => window.idle.forEach(call => call({ didTimeout: false, timeRemaining: () => 50 }))")
    expect(page.locator(".eca-Panel")).to_have_count(0)
    Panel.show(page)
    assert 0 < before <= 30 * 1024
    assert before < count_bytes() <= 400 * 1024


def test_all_scripts_of_the_page_together_are_small() -> None:
    """Also those of the settings and of what is rarely used, which the panel does not load. The builder would take the
    style sheets as they are."""
    scripts = Path(sys.prefix) / "share/jupyter/labextensions/jupyter-eca/static"
    assert 0 < sum(file.stat().st_size for file in scripts.glob("*.js")) <= 420 * 1024


@pytest.mark.nightly
def test_one_goes_on_from_a_message_in_another_chat(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    for words in ("first", "second"):
        panel.ask(words)
        panel.sees(f"You said: {words}")
        panel.wait_until_idle()
    panel.message("first").hover()
    panel.message("first").get_by_role("button", name="Continue from here in a new chat").click()
    expect(panel.node.get_by_role("heading", name="first (fork)")).to_be_visible()
    panel.sees("You said: first")
    expect(panel.transcript).not_to_contain_text("second")
    panel.ask("third")
    panel.sees("You said: third")


@pytest.mark.nightly
def test_one_goes_back_to_before_a_message_and_its_changes(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("Hello")
    panel.sees("You said: Hello")
    panel.wait_until_idle()
    panel.ask("Write a poem")
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    panel.sees("The poem is written.")
    panel.wait_until_idle()
    assert (lab.root / "poem.txt").exists()
    panel.message("Write a poem").hover()
    panel.message("Write a poem").get_by_role("button", name="Go back to before this message").click()
    panel.button("Messages and changes").click()
    panel.sees("Deleted: poem.txt, which the assistant had made")
    expect(panel.transcript).not_to_contain_text("The poem is written.")
    expect(panel.box).to_have_value("Write a poem")
    assert not (lab.root / "poem.txt").exists()
