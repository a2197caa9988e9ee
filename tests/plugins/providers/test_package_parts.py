"""The SDK of Anthropic is imported in part. Each test has a Python of its own, because a package is imported once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

IMPORTED = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from jupyter_eca.plugins.providers import anthropic as provider
from jupyter_eca.plugins.providers.connection.failures import RequestTarget
from jupyter_eca.plugins.providers.connection.package_parts import import_parts

target = RequestTarget("anthropic", "", "http://127.0.0.1:9", "a-key")
with ThreadPoolExecutor() as pool:
    clients = list(pool.map(lambda _: provider.PROVIDER._create_client(target, provider.TIME_LIMITS), range(2)))
client = clients[0]
"""


def run(code: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, check=True, timeout=60)


def test_two_clients_are_made_at_once_without_the_clients_of_the_clouds() -> None:
    run(
        f"""{IMPORTED}
assert not {{"anthropic.resources", "anthropic.lib.vertex"}} & set(sys.modules)
assert all(type(client).__name__ == "AsyncAnthropic" for client in clients), clients"""
    )


@pytest.mark.parametrize(
    "use",
    [
        "assert all(hasattr(anthropic, name) for name in anthropic.__all__) and client.messages.create",
        "from anthropic import *; assert isinstance(client, AsyncAnthropic) and Anthropic",
        "assert anthropic.resources.messages.Messages and anthropic.lib.vertex and anthropic.types.Message",
        "from anthropic.resources.messages import Messages; assert not hasattr(anthropic, 'no_such_name')",
    ],
)
def test_others_in_the_same_process_can_use_the_whole_package(use: str) -> None:
    run(f"{IMPORTED}\nimport anthropic\n{use}")


def test_several_threads_can_ask_for_the_whole_package_at_once() -> None:
    run(
        f"""{IMPORTED}
import anthropic
found = []
asking = [threading.Thread(target=lambda: found.append(anthropic.AnthropicBedrock)) for _ in range(4)]
for thread in asking:
    thread.start()
for thread in asking:
    thread.join()
assert found == [anthropic.AnthropicBedrock] * 4"""
    )


def test_a_package_that_is_imported_already_stays_as_it_is() -> None:
    run(f"import anthropic\nfirst = anthropic.AsyncAnthropic\n{IMPORTED}\nassert type(client) is first")


def test_a_package_with_other_modules_is_imported_as_usual() -> None:
    run(f"{IMPORTED}\nassert import_parts('wsgiref', {{'loads': 'no_such_module'}}).__name__ == 'wsgiref'")


def test_a_package_that_is_missing_is_an_import_error() -> None:
    run(
        f"""{IMPORTED}
try:
    import_parts("no_such_package", {{"name": "module"}})
except ImportError:
    sys.exit(0)
sys.exit(1)"""
    )
