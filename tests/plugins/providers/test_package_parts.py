"""The SDK of Anthropic is imported in part. Each test has a Python of its own, because a package is imported once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from tests.support.anthropic_server import Fault, LoopbackAnthropic
from tests.support.samples import sample

ROOT = Path(__file__).parents[3]

IMPORT_PARTS = "import sys\nfrom jupyter_eca.plugins.providers.connection.package_parts import import_parts\n"
IMPORTED = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from jupyter_eca.plugins.providers import anthropic as provider
from jupyter_eca.plugins.providers.connection.failures import RequestTarget

target = RequestTarget("anthropic", "", "http://127.0.0.1:9", "a-key")
with ThreadPoolExecutor() as pool:
    clients = list(pool.map(lambda _: provider.PROVIDER._create_client(target, provider.TIME_LIMITS), range(2)))
client = clients[0]
"""


ASKED = """
import asyncio, sys
from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import anthropic as provider
from tests.plugins.providers.ask import asking

settings = ProviderConfig.model_validate({"url": sys.argv[1], "key": "a-key"})

async def ask():
    try:
        deltas = [delta async for delta in provider.PROVIDER.stream("m", asking("hi", model="anthropic/m"), settings)]
    except ProviderError as error:
        return error.kind.value
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))

print(asyncio.run(ask()), "anthropic.resources" in sys.modules)
"""


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@pytest.mark.parametrize(("fault", "outcome"), [(None, "Good day."), (Fault(401, "no"), "auth")])
def test_an_answer_and_an_error_come_without_the_rest_of_the_package(fault: Fault | None, outcome: str) -> None:
    rules = [{"message": "", "reply": [{"text": "Good day."}]}]
    with LoopbackAnthropic(Script.model_validate({"rules": rules}), [fault]) as server:
        assert run(ASKED, server.url) == f"{outcome} False"


def test_two_clients_are_made_at_once_without_the_clients_of_the_clouds_and_the_types_of_the_whole_api() -> None:
    run(
        f"""{IMPORTED}
assert not {{"anthropic.resources", "anthropic.lib.vertex", "anthropic.types.beta_error"}} & set(sys.modules)
assert all(type(client).__name__ == "AsyncAnthropic" for client in clients), clients"""
    )


@pytest.mark.parametrize(
    "use",
    sample(
        [
            "assert {*dir(anthropic)} >= set(anthropic.__all__) and dir(anthropic) == sorted(vars(anthropic))",
            "assert all(hasattr(anthropic, name) for name in anthropic.__all__) and client.messages.create",
            "from anthropic import *; assert isinstance(client, AsyncAnthropic) and Anthropic",
            "assert anthropic.resources.messages.Messages and anthropic.lib.vertex and anthropic.types.Message",
            "from anthropic.resources.messages import Messages; assert not hasattr(anthropic, 'no_such_name')",
            "from anthropic.types.beta.sessions import BetaManagedAgentsSessionEvent; assert anthropic.types.ModelInfo",
        ],
        every=6,
    ),
)
def test_others_in_the_same_process_can_use_the_whole_package(use: str) -> None:
    run(f"{IMPORTED}\nimport anthropic\n{use}")


PACKAGES = ("types", "types.beta", "types.beta.sessions", "types.beta.organization.claude_code", "types.shared")


@pytest.mark.parametrize("package", sample(PACKAGES, every=5))
def test_others_find_the_same_names_in_a_package_within_it(package: str) -> None:
    names = f"""
import importlib, inspect
package = importlib.import_module("anthropic.{package}")
print([name for name in dir(package) if name[0] != "_" and not inspect.ismodule(getattr(package, name))])"""
    assert run(f"{IMPORTED}{names}") == run(names)


def test_several_threads_can_ask_for_different_packages_within_it_at_once() -> None:
    run(
        f"""{IMPORTED}
import anthropic, importlib
packages = [importlib.import_module("anthropic." + name) for name in {PACKAGES}]
with ThreadPoolExecutor() as pool:
    names = list(pool.map(dir, [*packages, anthropic]))
assert all(names) and anthropic.types.beta.BetaMessage and client.beta.messages.create"""
    )


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
    run(f"{IMPORT_PARTS}\nassert import_parts('wsgiref', {{'loads': 'no_such_module'}}).__name__ == 'wsgiref'")


def test_a_package_that_is_missing_is_an_import_error() -> None:
    run(
        f"""{IMPORT_PARTS}
try:
    import_parts("no_such_package", {{"name": "module"}})
except ImportError:
    sys.exit(0)
sys.exit(1)"""
    )
