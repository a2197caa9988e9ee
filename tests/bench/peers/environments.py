"""An environment of its own for each peer, in a cache folder outside the repository.

`talk` has all that a peer needs to ask the model. `wheels` are the packages that are downloaded once, so that what is
timed is the installation, and not the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.bench.peers.peers import Peer

ROOT: Final = Path(__file__).parents[3]
JUPYTERLAB: Final = "jupyterlab>=4.6,<5"
MIB: Final = 2**20


def cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "jupyter-eca-bench"


def run(*command: str, **env: str) -> str:
    """Return what it printed. Raises: RuntimeError with what it wrote to stderr."""
    done = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-3000:]}")
    return done.stdout


def uv() -> str:
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv") or "uv"


@dataclass(frozen=True)
class Installed:
    """What an installation took, or added to what was there."""

    packages: int
    mib: float
    seconds: float


@dataclass(frozen=True)
class Environment:
    """`python -m venv`, as uv makes it."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def make(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        run(uv(), "venv", "-q", "--python", sys.executable, str(self.folder))

    def install(self, *requirements: str, options: tuple[str, ...] = ()) -> None:
        run(uv(), "pip", "install", "-q", "--python", self.python, *options, *requirements)

    def versions(self) -> dict[str, str]:
        lines = run(uv(), "pip", "freeze", "-q", "--python", self.python).splitlines()
        pairs = (line.replace(" @ ", "==").partition("==") for line in lines)
        return {name.lower(): version for name, _, version in pairs}

    def mib(self) -> float:
        """Of all its files, but for those that Python compiles when it is first run."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()]
        return sum(path.stat().st_size for path in files if path.suffix != ".pyc") / MIB


class Environments:
    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._ready: dict[str, Environment] = {}
        cache.mkdir(parents=True, exist_ok=True)

    @cached_property
    def our_wheel(self) -> str:
        """Built from this checkout, once a run."""
        folder = self._cache / "our-wheel"
        shutil.rmtree(folder, ignore_errors=True)
        run(uv(), "build", "-q", "--wheel", "--out-dir", str(folder), str(ROOT))
        return str(next(folder.glob("*.whl")))

    def requirements(self, peer: Peer) -> list[str]:
        """Return what one installs beside JupyterLab. It is empty for JupyterLab alone."""
        if peer.name == "jupyter_eca":
            return [self.our_wheel]
        return [peer.requirement] if peer.requirement else []

    def talk(self, peer: Peer) -> Environment:
        """Return the environment in which the peer can ask the model. It is kept from run to run, and of ours, all but
        the package itself."""
        if peer.name not in self._ready:
            environment = self._ready[peer.name] = Environment(self._cache / "talk" / peer.name.replace(" ", "-"))
            mark = environment.folder / "complete"
            options = ("--prerelease", "allow") if peer.prerelease else ()
            if not mark.exists():
                environment.make()
                environment.install(JUPYTERLAB, *self.requirements(peer), *peer.more, options=options)
            elif peer.name == "jupyter_eca":
                environment.install(self.our_wheel, options=("--reinstall-package", "jupyter-eca"))
            # A user's packages are compiled once, too. What is compiled already is passed over.
            run(environment.python, "-m", "compileall", "-q", "-j", "0", str(environment.folder / "lib"))
            mark.touch()
        return self._ready[peer.name]

    def wheels(self, peer: Peer) -> Path:
        """Return the folder with the packages of JupyterLab and of what one installs for the peer."""
        folder = self._cache / "wheels" / peer.name.replace(" ", "-")
        mark = folder / "complete"
        if not mark.exists() or peer.name == "jupyter_eca":
            shutil.rmtree(folder, ignore_errors=True)
            pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
            run(*pip, "wheel", "--wheel-dir", str(folder), JUPYTERLAB, *self.requirements(peer))
            mark.touch()
        return folder

    def install(self, peer: Peer, installer: str) -> Installed:
        """Install the peer beside JupyterLab with `uv` or `pip` from the folder of wheels, into a new environment."""
        wheels, folder = self.wheels(peer), self._cache / "install"
        environment = Environment(folder / "env")
        environment.make()
        offline = ("--no-index", "--find-links", str(wheels))
        environment.install("pip", JUPYTERLAB, options=("--find-links", str(wheels)))
        before, size = len(environment.versions()), environment.mib()
        command = (
            [uv(), "pip", "install", "-q", "--python", environment.python, "--cache-dir", str(folder / "cache")]
            if installer == "uv"
            else [environment.python, "-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check"]
        )
        began = monotonic()
        if requirements := self.requirements(peer):
            run(*command, *offline, *requirements)
        seconds = monotonic() - began
        added = Installed(len(environment.versions()) - before, environment.mib() - size, seconds)
        shutil.rmtree(folder)
        return added
