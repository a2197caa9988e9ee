"""What an installation adds to JupyterLab, and why each package is there: `python -m tests.bench.packages` measures and
writes the table of the documentation.

A package that several dependencies bring counts for each of them as far as it would go with that dependency alone: so
the column does not add up to the whole, and a dependency that shares all it brings saves only itself.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.bench.figure import Figure, list_of, number
from tests.bench.machine import describe_run
from tests.bench.marked_pages import PERFORMANCE, ROOT, write_marked
from tests.bench.peers.environments import JUPYTERLAB, MIB, Environment, Environments, cache_folder, run
from tests.bench.peers.peers import LAB, OURS

ROUNDS: Final = 1
REASONS: Final = {
    "anthropic": "The models of Anthropic. The vendor changes its streams, caching and thinking often",
    "anywidget": "The panel below a cell, where no extension of JupyterLab can be installed: Colab, VS Code",
    "genai-prices": "What an answer costs, for all vendors and without a network",
    "httpx2": "HTTP, which the SDKs use as well",
    "ipykernel": "The kernel in which `%eca` runs",
    "ipywidgets": "The buttons below a cell, and what `anywidget` is built on",
    "json5": "Comments in the configuration",
    "jupyter-client": "The server asks kernels for variables and runs code",
    "jupyter-server": "The assistant is an extension of it",
    "mcp": "MCP servers and our own one, with sign-in by OAuth, from whose keys `cryptography` comes",
    "openai": "The models of OpenAI and all who speak its interface: Ollama, vLLM, OpenRouter and others",
    "opentelemetry-api": "Traces. It is the interface only, which `mcp` brings as well",
    "pathspec": "`.gitignore` in searches of the workspace",
    "psutil": "Which processes the assistant's commands have left, and the memory of kernels",
    "pydantic": "Checks all that comes from clients, models and files; `mcp` and the SDKs bring it as well",
    "pyyaml": "The heads of rules, skills and agents",
}

# Inside an environment: of each package, its bytes and its requirements.
_LIST: Final = """
import importlib.metadata, json
found = {}
for one in importlib.metadata.distributions():
    files = [file.locate() for file in one.files or [] if file.suffix != ".pyc"]
    found[one.metadata["Name"]] = [sum(file.stat().st_size for file in files if file.exists()), one.requires or []]
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Package:
    mib: float
    requires: tuple[Requirement, ...]


Packages = dict[str, Package]


def list_packages(environment: Environment) -> Packages:
    found: dict[str, Any] = json.loads(run(environment.python, "-c", _LIST))
    return {
        canonicalize_name(name): Package(size / MIB, tuple(map(Requirement, requires)))
        for name, (size, requires) in found.items()
    }


def find_needed(packages: Packages, names: set[str]) -> set[str]:
    """Return the names and all that they require, of what is installed, with the extras that are asked for."""
    needed: set[str] = set()
    extras: dict[str, set[str]] = {}
    left = [(name, frozenset[str]()) for name in sorted(names)]
    while left:
        name, asked = left.pop()
        if name not in packages or (name in needed and asked <= extras[name]):
            continue
        needed.add(name)
        extras[name] = extras.get(name, set()) | asked
        left += [
            (canonicalize_name(requirement.name), frozenset(requirement.extras))
            for requirement in packages[name].requires
            if any(_applies(requirement, extra) for extra in ("", *extras[name]))
        ]
    return needed


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def list_dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted(Requirement(text).name for text in project["dependencies"])


def format_table(packages: Packages, of_lab: set[str]) -> str:
    dependencies = list_dependencies()
    added = packages.keys() - of_lab
    lines = ["| dependency | goes without it | MiB | why |", "|---|---|--:|---|"]
    rows: list[tuple[float, str]] = []
    for name in dependencies:
        kept = find_needed(packages, of_lab | set(dependencies) - {name})
        gone = sorted(added - kept - {"jupyter-eca"})
        mib = sum(packages[one].mib for one in gone)
        listed = ", ".join(gone) if gone else "nothing: JupyterLab or another brings it"
        rows.append((mib, f"| `{name}` | {listed} | {number(mib) if gone else '0'} | {REASONS[name]} |"))
    lines += [row for _, row in sorted(rows, key=lambda one: -one[0])]
    ours = packages["jupyter-eca"].mib
    lines.append(f"| jupyter_eca itself | | {number(ours)} | |")
    return "\n".join(lines)


async def figures() -> list[Figure]:
    return (await asyncio.to_thread(_measure))[0]


def _measure() -> tuple[list[Figure], str]:
    with TemporaryDirectory() as name:
        environments = Environments(cache_folder())
        wheel = Path(environments.our_wheel).stat().st_size
        rounds = {tool: [environments.install(OURS, tool) for _ in range(ROUNDS)] for tool in ("uv", "pip")}
        wheels = environments.wheels(OURS)
        lab, both = Environment(Path(name) / "lab"), Environment(Path(name) / "both")
        for environment, peer in ((lab, LAB), (both, OURS)):
            environment.make()
            requirements = environments.requirements(peer)
            environment.install(JUPYTERLAB, *requirements, options=("--find-links", str(wheels)))
        packages = list_packages(both)
        table = format_table(packages, set(list_packages(lab)))
    one = rounds["uv"][0]
    seconds = {tool: [installed.seconds for installed in all_of] for tool, all_of in rounds.items()}
    found = [
        Figure("install: packages added to JupyterLab", [one.packages], "packages", 30, ""),
        Figure("install: size added", [one.mib], "MiB", 60, "without what Python compiles"),
        Figure("install: by uv, from files", seconds["uv"], "s", None, list_of(seconds["uv"], "s")),
        Figure("install: by pip, from files", seconds["pip"], "s", None, list_of(seconds["pip"], "s")),
        Figure("install: the wheel", [wheel / MIB], "MiB", 3, ""),
    ]
    return found, table


def main() -> None:
    found, table = _measure()
    lines = [
        f"- {figure.name.removeprefix('install: ')}: {number(min(figure.values))} {figure.unit}" for figure in found
    ]
    write_marked(
        PERFORMANCE, "packages", "\n\n".join([describe_run("python -m tests.bench.packages"), "\n".join(lines), table])
    )


if __name__ == "__main__":
    main()
