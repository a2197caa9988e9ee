"""What a real gateway is made of: an environment with LiteLLM, one with a Hub and the assistant, a proxy, a vendor that
is only scripted, and the files that `jupyter-eca gateway` writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from jupyter_eca.apps.cli import main
from tests.e2e.browser.hub import START_SECONDS, answers, find_ports, running_hub, wait_until
from tests.support.gateway_server import CLAUDE, GPT, LoopbackVendor

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.e2e.browser.hub import Hub

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="the proxy of the Hub is a package of npm")

PROXY: Final = "configurable-http-proxy@5"

# The keys of the institution, which no server of a user may have.
KEYS: Final = {
    "INSTITUTION_ANTHROPIC_KEY": "institution-key-anthropic-8f2c61",
    "INSTITUTION_OPENAI_KEY": "institution-key-openai-5d90ab",
}
SCOPE: Final = "access:services!service=llm"
CONTACT: Final = "Ask Ada."

# Each with its own limits: ada may use all, ben one model, carl has spent his budget with one answer, dora may ask once
# a minute.
LIMITS: Final = {
    "contact": CONTACT,
    "default": {"models": [GPT]},
    "groups": {"staff": {"models": [CLAUDE, GPT], "budget": 50, "period": "month"}},
    "users": {
        "carl": {"models": [CLAUDE, GPT], "budget": 0.0001, "period": "week"},
        "dora": {"models": [CLAUDE, GPT], "rpm_limit": 1},
    },
}
USERS: Final = ("ada", "ben", "carl", "dora")

# The policies of the servers, which the spawner sets.
ADA_CONTACT, BEN_CONTACT = "Ask the staff.", "Ask your teacher."
POLICIES: Final = {
    "ada": {"contact": ADA_CONTACT, "deny": {"models": [f"hub/{GPT}"]}},
    "ben": {"contact": BEN_CONTACT, "deny": {"models": [f"hub/{CLAUDE}"]}},
}

_MORE: Final = """
c.Authenticator.allowed_users = set(json.loads(os.environ["HUB_USERS"]))
c.JupyterHub.load_groups = {"staff": {"users": ["ada"]}}

def give_home(spawner):
    home = f"{folder}/users/{spawner.user.name}"
    os.makedirs(home, exist_ok=True)
    spawner.environment = {
        **spawner.environment,
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "JUPYTER_DATA_DIR": f"{home}/.local/share/jupyter",
        "JUPYTER_CONFIG_DIR": f"{home}/.jupyter",
        "JUPYTER_RUNTIME_DIR": f"{home}/.run",
        "IPYTHONDIR": f"{home}/.ipython",
    }
    policy = json.loads(os.environ["HUB_POLICIES"]).get(spawner.user.name)
    if policy:
        spawner.environment["JUPYTER_ECA_POLICY"] = json.dumps(policy)

c.Spawner.pre_spawn_hook = give_home
load_subconfig(os.environ["HUB_GATEWAY"])
"""


@dataclass(frozen=True)
class RunningGateway:
    """LiteLLM as a service of a Hub."""

    url: str
    hub: Hub
    vendor: LoopbackVendor
    folder: Path
    """What the administrator has: the files of the gateway, and its ledger."""

    def make_token(self, user: str, *scopes: str) -> str:
        return self.hub.make_token(user, *(scopes or (SCOPE, "read:users:groups!user")))


def build_litellm(folder: Path) -> Path:
    """Return the command `litellm` of a new environment."""
    uv, python = str(Path(sys.executable).with_name("uv")), str(folder / "bin" / "python")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, "litellm[proxy]>=1.108"], check=True)
    return folder / "bin" / "litellm"


def install_proxy(folder: Path) -> Path:
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), PROXY], check=True)  # noqa: S607  # npm as it is found
    return folder / "node_modules" / ".bin" / "configurable-http-proxy"


@contextmanager
def running_gateway(litellm: Path, python: Path, proxy: Path, folder: Path) -> Generator[RunningGateway]:
    """Run all of it, with the files as they are written, but for the addresses of the vendors and the limits."""
    files = folder / "gateway"
    assert main(["gateway", str(files)]) == 0
    (files / "limits.json").write_text(json.dumps(LIMITS))
    (port,) = find_ports(1)
    url = f"http://127.0.0.1:{port}"
    variables = {
        **KEYS,
        "GATEWAY_ADDRESS": url,
        "GATEWAY_LITELLM": str(litellm),
        "HUB_USERS": json.dumps(USERS),
        "HUB_POLICIES": json.dumps(POLICIES),
        "HUB_GATEWAY": str(files / "jupyterhub_gateway.py"),
    }
    with LoopbackVendor() as vendor:
        lead_to(vendor.url, files / "litellm_config.yaml")
        hub_folder = folder / "hub"
        hub_folder.mkdir()
        with running_hub(python, proxy, hub_folder, {}, more=_MORE, variables=variables) as hub:
            gateway = RunningGateway(url, hub, vendor, files)
            wait_for_litellm(url, hub_folder / "hub.log")
            yield gateway


def lead_to(vendor: str, file: Path) -> None:
    """Give the models in the configuration of LiteLLM the address of the vendor."""
    lines = file.read_text().splitlines()
    for number, line in enumerate(lines):
        if "INSTITUTION_" in line:
            path = "" if "ANTHROPIC" in line else "/v1"
            lines[number] = f"{line}\n      api_base: {vendor}{path}"
    file.write_text("\n".join(lines) + "\n")


def wait_for_litellm(url: str, log: Path) -> None:
    try:
        wait_until(lambda: answers(f"{url}/health/liveliness"), START_SECONDS)
    except TimeoutError:
        raise RuntimeError(log.read_text(errors="replace")[-5000:]) from None
