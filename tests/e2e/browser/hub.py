"""A real JupyterHub with its proxy and its idle culler, on loopback. Knows no browser and no test."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

USER: Final = "ada"
PASSWORD: Final = "pw"  # noqa: S105  # of a hub that only this machine reaches, while a test runs
_TOKEN: Final = "a-token-of-the-tests-0123456789"  # noqa: S105  # the same
_PROXY_TOKEN: Final = "proxy-secret-for-tests"  # noqa: S105  # the same

# A hub and a server of a user each start within it on a busy machine.
START_SECONDS: Final = 120
STOP_SECONDS: Final = 20

# A base URL on purpose: links must not begin at the root.
_CONFIGURATION: Final = """
import os, sys
from pathlib import Path

folder = Path(os.environ["HUB_FOLDER"])
proxy_port, hub_port, api_port = json.loads(os.environ["HUB_PORTS"])
c.JupyterHub.bind_url = f"http://127.0.0.1:{proxy_port}/base/"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{hub_port}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = [os.environ["HUB_PROXY"]]
c.ConfigurableHTTPProxy.auth_token = os.environ["CONFIGPROXY_AUTH_TOKEN"]
c.JupyterHub.db_url = f"sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{folder}/cookie_secret"
c.JupyterHub.pid_file = f"{folder}/hub.pid"
c.ConfigurableHTTPProxy.pid_file = f"{folder}/proxy.pid"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = os.environ["HUB_PASSWORD"]
c.Authenticator.allowed_users = {os.environ["HUB_USER"]}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = f"{folder}/users/{{username}}"
c.Spawner.cmd = [f"{sys.prefix}/bin/jupyterhub-singleuser"]
c.Spawner.args = ["--allow-root", "--LabApp.expose_app_in_browser=True"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
home = f"{folder}/users/" + os.environ["HUB_USER"]
c.Spawner.environment = {
    "XDG_CONFIG_HOME": f"{home}/.config",
    "JUPYTER_DATA_DIR": f"{home}/.local/share/jupyter",
    "JUPYTER_CONFIG_DIR": f"{home}/.jupyter",
    "JUPYTER_RUNTIME_DIR": f"{home}/.run",
    "IPYTHONDIR": f"{home}/.ipython",
    "JUPYTERHUB_ACTIVITY_INTERVAL": "5",
}
c.JupyterHub.last_activity_interval = 5
seconds = os.environ["HUB_CULLS_AFTER"]
culler = [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={seconds}", "--cull-every=5"]
c.JupyterHub.services = [
    {"name": "tester", "api_token": os.environ["HUB_TOKEN"]},
    *([{"name": "culler", "command": culler}] if seconds else []),
]
c.JupyterHub.load_roles = [
    {"name": "tester", "services": ["tester"], "scopes": ["admin:users", "admin:servers", "tokens"]},
    {
        "name": "culler",
        "services": ["culler"] if seconds else [],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    },
]
"""

# The proxy is started by whoever starts the hub.
_OUTLIVES: Final = """
c.ConfigurableHTTPProxy.should_start = False
c.JupyterHub.cleanup_proxy = False
c.JupyterHub.cleanup_servers = False
"""


@dataclass
class Hub:
    """`url` ends with a slash; `home` is the folder of the user, which their server shows.

    The other fields are what its processes are started with.
    """

    url: str
    home: Path
    folder: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    proxy_command: Sequence[str] = ()
    """The command of the proxy, if this starts it. Otherwise the hub does."""
    _hub: subprocess.Popen[bytes] | None = None
    _proxy: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Raises: RuntimeError with what it printed, when it does not start."""
        if self.proxy_command and self._proxy is None:
            self.start_proxy()
        self._hub = self._run(self.command, "hub.log")
        wait_until(lambda: self._has_ended() or answers(f"{self.url}hub/api/"), START_SECONDS)
        if self._has_ended():
            raise RuntimeError((self.folder / "hub.log").read_text(errors="replace"))

    def stop(self) -> None:
        """A hub that is asked takes its proxy and its servers along, unless its configuration says something else."""
        end_process(self._hub)

    def close(self) -> None:
        """End everything."""
        if self.proxy_command:
            with suppress(OSError):  # it may not have started
                self.stop_server()
        self.stop()
        end_process(self._proxy)
        self._end_forgotten()

    def _end_forgotten(self) -> None:
        """End what a hub has left behind: a proxy that it has just started again, a server that it could not reach."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it has just ended, or is another user's
                variables = process.environ()
                is_proxy = variables.get("HUB_FOLDER") == str(self.folder)
                if is_proxy or variables.get("HOME", "").startswith(f"{self.folder}/"):
                    process.kill()

    def start_proxy(self) -> None:
        self._proxy = self._run(self.proxy_command, "proxy.log")

    def kill_proxy(self) -> None:
        """By SIGKILL. The hub starts its own proxy again by itself, and another one is started by `start_proxy`."""
        if self._proxy is None:
            os.kill(int((self.folder / "proxy.pid").read_text()), signal.SIGKILL)
        else:
            self._proxy.kill()
            self._proxy.wait()

    def start_server(self, user: str = USER) -> None:
        """Start the server of a user if it does not run, and wait until it is ready."""
        if self.is_running(user):
            return
        self._ask("POST", f"users/{user}/server")
        wait_until(lambda: self.is_running(user), START_SECONDS)

    def stop_server(self, user: str = USER) -> None:
        self._ask("DELETE", f"users/{user}/server")
        wait_until(lambda: not self.is_running(user), START_SECONDS)

    def is_running(self, user: str = USER) -> bool:
        """Whether the server of a user can be used."""
        server = self._ask("GET", f"users/{user}")["servers"].get("")
        return server is not None and bool(server["ready"])

    def find_server(self) -> psutil.Process:
        """Return the process of the user's server."""
        (server,) = (
            process
            for process in psutil.process_iter()
            if "jupyterhub-singleuser" in " ".join(process.cmdline())
            and process.environ().get("HOME") == str(self.home)
        )
        return server

    def make_token(self, user: str, *scopes: str) -> str:
        """Return a new token of a user; without scopes it has all of the user's."""
        token: str = self._ask("POST", f"users/{user}/tokens", {"scopes": scopes} if scopes else {})["token"]
        return token

    def make_expired_token(self, user: str) -> str:
        """Return a token of a user that the hub no longer accepts."""
        token: str = self._ask("POST", f"users/{user}/tokens", {"expires_in": 1})["token"]
        wait_until(lambda: not self._accepts(token), START_SECONDS)
        return token

    def _accepts(self, token: str) -> bool:
        request = urllib.request.Request(f"{self.url}hub/api/user", headers={"Authorization": f"token {token}"})  # noqa: S310  # our own hub's address
        try:
            with urllib.request.urlopen(request, timeout=30):  # noqa: S310  # the same
                return True
        except urllib.error.HTTPError as error:
            with error:
                return error.code != HTTPStatus.FORBIDDEN

    def _has_ended(self) -> bool:
        return self._hub is None or self._hub.poll() is not None

    def _run(self, command: Sequence[str], log: str) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as file:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=file, stderr=subprocess.STDOUT
            )

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(  # noqa: S310  # our own hub's address
            f"{self.url}hub/api/{path}",
            None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"token {_TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310  # the same
            text = response.read()
        return json.loads(text) if text else None


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Raises: TimeoutError."""
    deadline = monotonic() + seconds
    while not condition():
        if monotonic() > deadline:
            raise TimeoutError
        sleep(0.3)


def end_process(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def running_hub(
    python: Path,
    proxy: Path,
    folder: Path,
    eca: Mapping[str, Any],
    culls_after: str = "",
    *,
    more: str = "",
    variables: Mapping[str, str] | None = None,
    outlives: bool = False,
) -> Generator[Hub]:
    """Run a hub with the packages of this Python and this proxy. `eca` is the configuration of the user. Servers are
    ended after so many idle seconds; "" for never. `more` is added to the configuration of the hub, and `variables` to
    its environment. `outlives`: the proxy and the servers go on when the hub is stopped."""
    home = folder / "users" / USER
    (home / ".config" / "eca").mkdir(parents=True)
    (home / ".config" / "eca" / "config.json").write_text(json.dumps(eca))
    configuration = folder / "jupyterhub_config.py"
    configuration.write_text(f"import json\n{_CONFIGURATION}\n{_OUTLIVES if outlives else ''}\n{more}")
    ports = find_ports(3)
    environment = {
        **os.environ,
        **(variables or {}),
        "HUB_FOLDER": str(folder),
        "HUB_PORTS": json.dumps(ports),
        "HUB_PROXY": str(proxy),
        "HUB_TOKEN": _TOKEN,
        "HUB_USER": USER,
        "HUB_PASSWORD": PASSWORD,
        "HUB_CULLS_AFTER": culls_after,
        "CONFIGPROXY_AUTH_TOKEN": _PROXY_TOKEN,
    }
    url = f"http://127.0.0.1:{ports[0]}/base/"
    command = [str(python.with_name("jupyterhub")), "-f", str(configuration)]
    options = {"ip": "127.0.0.1", "port": ports[0], "api-ip": "127.0.0.1", "api-port": ports[2]}
    options |= {"error-target": f"http://127.0.0.1:{ports[1]}/base/hub/error"}
    apart = [str(proxy), *(f"--{name}={value}" for name, value in options.items())]
    hub = Hub(url, home, folder, command, environment, apart if outlives else ())
    try:
        hub.start()
        yield hub
    finally:
        hub.close()


def answers(url: str) -> bool:
    with suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310  # ours
        return bool(response.status == 200)
    return False


def find_ports(count: int) -> list[int]:
    """Return ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
