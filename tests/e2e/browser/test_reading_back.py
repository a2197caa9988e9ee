"""A long chat is followed to its end, and read back with the wheel: what is read stays where it is while older messages
are added above."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

TURNS = 250
# Answers of different heights: none is as high as the page expects before it has drawn it.
RULES: list[dict[str, Any]] = [
    {"message": "long", "reply": [{"text": "A line of the answer.\n\n" * 12}]},
    {"message": "code", "reply": [{"text": "```python\n" + "x = 1\n" * 8 + "```\n\nAnd so on."}]},
    {"message": "", "reply": [{"text": "Short."}]},
]
# Has many turns in a chat without drawing them.
FILL = """async ({ chat, turns }) => {
  const { baseUrl } = JSON.parse(document.getElementById('jupyter-config-data').textContent);
  const socket = new WebSocket(`${location.origin.replace('http', 'ws')}${baseUrl}eca/ws`);
  await new Promise(resolve => socket.addEventListener('open', resolve));
  const heard = [];
  let notice = () => undefined;
  socket.addEventListener('message', ({ data }) => { heard.push(JSON.parse(data)); notice(); });
  const wait = async fits => {
    for (;;) {
      const at = heard.findIndex(fits);
      if (at >= 0) return heard.splice(0, at + 1).at(-1);
      await new Promise(resolve => { notice = resolve; });
    }
  };
  let id = 0;
  const request = async (method, params) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }));
  };
  const client = { clientInfo: { name: 'filler' }, capabilities: {} };
  await request('initialize', { processId: null, workspaceFolders: [], ...client });
  await wait(message => message.id === 1);
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'initialized', params: {} }));
  for (let turn = 0; turn < turns; turn++) {
    const kind = ['short', 'long', 'code'][turn % 3];
    await request('chat/prompt', { chatId: chat, message: `${kind} question ${turn}` });
    await wait(({ method, params }) => method === 'chat/statusChanged' && params.status === 'idle');
  }
  socket.close();
}"""
# The first message in sight and how far it is below the top of the frame.
PLACE = """() => {
  const frame = document.querySelector('.eca-Transcript');
  const top = frame.getBoundingClientRect().top;
  for (const block of frame.querySelectorAll('.eca-Block')) {
    const place = block.getBoundingClientRect();
    if (place.bottom > top + 20 && block.querySelector('.eca-User')) {
      return [block.querySelector('.eca-User p').textContent, Math.round(place.top - top)];
    }
  }
}"""
TOP_OF = """text => {
  const frame = document.querySelector('.eca-Transcript');
  const found = [...frame.querySelectorAll('.eca-User p')].find(p => p.textContent === text);
  const top = node => node.getBoundingClientRect().top;
  return found && Math.round(top(found.closest('.eca-Block')) - top(frame));
}"""
# The id of the chat that the tab shows.
CHAT = "() => Object.entries(sessionStorage).find(([name]) => name.endsWith(' chat'))[1]"
# How many pixels of the chat are below the frame.
TO_THE_END = """() => {
  const frame = document.querySelector('.eca-Transcript');
  return frame.scrollHeight - frame.scrollTop - frame.clientHeight;
}"""
# Resolves when nothing has moved for some frames.
STILL = """() => new Promise(resolve => {
  const frame = document.querySelector('.eca-Transcript');
  let last, same = 0;
  const look = () => {
    const now = `${frame.scrollTop} ${frame.scrollHeight}`;
    same = now === last ? same + 1 : 0;
    last = now;
    same > 8 ? resolve() : requestAnimationFrame(look);
  };
  look();
})"""


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "long.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"long": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/long", "providers": {"scripted": {"models": models}}})


@pytest.mark.nightly
def test_the_wheel_moves_what_is_read_by_as_much_as_it_was_turned(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    page.evaluate(FILL, {"chat": "a-long-chat", "turns": TURNS})
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open", has_text="question 0").click()
    panel.sees(f"question {TURNS - 1}")
    panel.transcript.hover()
    # A block that is drawn for the first time may turn out higher than it was taken for, by a line or two and the row
    # with the button that copies the answer.
    step, room, moved, passed = 400, 130, list[tuple[str, int | None]](), set[str]()
    for _ in range(36):
        page.evaluate(STILL)
        text, top = page.evaluate(PLACE)
        passed.add(text)
        page.mouse.wheel(0, -step)
        page.evaluate(STILL)
        after = page.evaluate(TOP_OF, text)
        moved.append((text, None if after is None else after - top))
    assert [one for one in moved if one[1] is None or abs(one[1] - step) > room] == []
    assert len(passed) > 24
    expect(panel.button("Jump to the end")).to_be_visible(timeout=SECONDS * 1000)


def test_the_end_of_a_chat_is_followed_also_when_older_messages_leave_the_page(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    for number in range(24):
        panel.ask(f"question {number}")
        expect(panel.transcript.get_by_text("Short.")).to_have_count(min(number + 1, 20))
        panel.wait_until_idle()
        page.evaluate(STILL)
        assert page.evaluate(TO_THE_END) < 2, f"after question {number}"
        expect(panel.button("Jump to the end")).to_have_count(0)
    expect(panel.button("Show earlier messages")).to_have_count(1)

    panel.transcript.hover()
    page.mouse.wheel(0, -300)
    expect(panel.button("Jump to the end")).to_be_visible()
    page.evaluate(STILL)
    text, top = page.evaluate(PLACE)
    page.evaluate(FILL, {"chat": page.evaluate(CHAT), "turns": 2})
    expect(panel.message("long question 1")).to_have_count(1)
    panel.wait_until_idle()
    page.evaluate(STILL)
    assert abs(page.evaluate(TOP_OF, text) - top) < 2  # places are fractions of pixels
    panel.button("Jump to the end").click()
    page.evaluate(STILL)
    assert page.evaluate(TO_THE_END) < 2
