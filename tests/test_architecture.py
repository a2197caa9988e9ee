"""The rules of the house: which room may import which, no rings, what is heavy, how names are formed.

The rooms and the imports are `tests.support.rooms`. A failing test names the file and the line.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from tests.support.rooms import (
    LEAVES,
    OURS,
    ROOMS,
    ROOT,
    allowed,
    imports,
    imports_of,
    module_of,
    ring,
    sources,
    tree_of,
    with_drawing,
)

MAX_MODULES = 24
# Who may name the class `Host`, the one that knows all parts. Every part of it takes the collaborators it needs.
KNOW_THE_HOST = ("host/host.py", "host/commands", "fronts", "apps")

IMPURE = ("asyncio", "time", "random", "uuid", "os", "pathlib", "sqlite3")
ONLY_IN: dict[str, tuple[str, ...]] = {
    "jupyter_server": ("apps/server", "workspace/kernels/jupyter_server.py"),
    "tornado": ("apps/server",),
    "prometheus_client": ("apps/server",),
    "IPython": ("apps/kernel",),
    "anywidget": ("apps/kernel",),
    "ipywidgets": ("apps/kernel",),
    # The gateway runs in other programs than ours.
    "sqlite3": ("host/store", "apps/hub/gateway"),
    "litellm": ("apps/hub/gateway",),
    "fastapi": ("apps/hub/gateway",),
    "mcp": ("mcp_client", "fronts/mcp"),
    "mcp_types": ("mcp_client", "fronts/mcp"),
    "keyring": ("config/keyring_backend.py",),
    "starlette": ("fronts",),
    "uvicorn": ("fronts/http",),
}
SDKS = ("anthropic", "openai", "xllamacpp", "genai_prices")
HEAVY = (
    "pydantic",
    "anthropic",
    "openai",
    "mcp",
    "anywidget",
    "ipywidgets",
    "sqlite3",
    "keyring",
    "yaml",
    "starlette",
    "uvicorn",
)
# A function begins with a verb (CONTRIBUTING.md, "How we write"). Words that end in -ed are participles but for these;
# the others are listed. A property may be named by one.
ENDS_IN_ED = frozenset({"embed", "feed", "heed", "need", "seed", "speed"})
PARTICIPLES = frozenset(
    {"become", "begun", "bound", "broken", "brought", "chosen", "come", "done", "drawn", "forgotten", "foreseen"}
    | {"found", "given", "gone", "heard", "held", "hidden", "kept", "known", "left", "lent", "lost", "made", "meant"}
    | {"said", "seen", "sent", "shown", "spent", "spoken", "taken", "thought", "told", "understood", "unknown"}
    | {"unseen", "withheld", "woven", "written"}
)


def is_participle(name: str) -> bool:
    """Whether a function's name is one participle, alone or with a word behind it (`taken_back`)."""
    word = name.lstrip("_").partition("_")[0]
    return word in PARTICIPLES or (word.endswith("ed") and word not in ENDS_IN_ED)


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_the_package_has_twelve_rooms_and_five_modules() -> None:
    entries = {path.stem for path in (ROOT / OURS).iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))}
    assert entries == {"__init__", "__main__", *LEAVES, *ROOMS}


def test_a_room_imports_only_itself_and_the_rooms_before_it() -> None:
    ours = [found for found in imports() if found.imported_room is not None]
    wrong = [str(found) for found in ours if found.imported_room not in allowed(found.room)]
    assert wrong == [], "a room imports itself and the rooms below it in ARCHITECTURE.md: move the code, or pass it in"


def test_the_drawing_of_the_rooms_is_todays() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert with_drawing(page) == page, "run: python -m tests.support.rooms ARCHITECTURE.md"


def test_no_modules_import_each_other_in_a_ring() -> None:
    """Imports for type checkers and inside functions count, too: a ring is two files that are really one."""
    graph = defaultdict[str, set[str]](set)
    for found in imports():
        if found.top == OURS and found.module != module_of(found.file):
            graph[module_of(found.file)].add(found.module)
    assert ring(graph) == [], "move what these modules share into a module that imports none of them"


def test_no_modules_of_the_labextension_import_each_other_in_a_ring() -> None:
    source, graph = ROOT / "labextension" / "src", defaultdict[str, set[str]](set)
    for path in sorted(source.rglob("*.ts*")):
        for target in re.findall(r"""(?:from|import|import\()\s*['"](\.[^'"]+)['"]""", path.read_text("utf-8")):
            imported = (path.parent / target).resolve()
            if imported.suffix not in {".css", ".svg"}:
                graph[str(path.relative_to(source).with_suffix(""))].add(str(imported.relative_to(source)))
    assert graph
    assert ring(graph) == []


@pytest.mark.parametrize(("folder", "pattern"), [(OURS, "*.py"), ("labextension/src", "*.ts*")])
def test_a_folder_has_few_modules(folder: str, pattern: str) -> None:
    modules = (path for path in (ROOT / folder).rglob(pattern) if path.stem != "__init__")
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in modules)
    full = {name: count for name, count in counts.items() if count > MAX_MODULES}
    advice = f"a folder has at most {MAX_MODULES} modules: move some that belong together into a folder below it"
    assert full == {}, f"{advice}, such as plugins/providers/connection"


def test_a_public_class_name_is_used_once() -> None:
    places = defaultdict[str, list[str]](list)
    for path in sources(OURS):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert twice == {}, "give each public class a name that no other has, so that a search finds one"


def test_the_parts_of_the_host_do_not_name_it() -> None:
    places = [ROOT / OURS / place for place in KNOW_THE_HOST]
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources(OURS)
        if not any(path.is_relative_to(place) for place in places)
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Name) and node.id == "Host")
        or (isinstance(node, ast.ImportFrom) and any(alias.name == "Host" for alias in node.names))
    ]
    assert wrong == [], f"take the parts that you need and not the `Host`: only {KNOW_THE_HOST} know it"


def test_no_function_is_named_by_a_participle() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sources(OURS)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_participle(node.name) and not is_property(node)
    ]
    assert wrong == [], "begin the name of a function with a verb: `find_chats` and not `found_chats`"


@pytest.mark.parametrize("room", ["protocol", "engine"])
def test_the_core_is_pure(room: str) -> None:
    wrong = [str(found) for found in imports() if found.room == room and found.top in IMPURE]
    assert wrong == [], f"code in {room}/ reads no clock, file or chance: let the caller pass in what it needs"


@pytest.mark.parametrize("module", ONLY_IN)
def test_a_framework_stays_in_its_place(module: str) -> None:
    places = [ROOT / OURS / place for place in ONLY_IN[module]]
    wrong = [
        str(found)
        for found in imports()
        if found.top == module and not found.typing and not any(found.file.is_relative_to(place) for place in places)
    ]
    assert wrong == [], f"{module} may be imported only in {ONLY_IN[module]}"


def test_the_files_of_the_gateway_import_nothing_of_ours_and_only_what_litellm_has() -> None:
    """They are copied, and run in the environments of LiteLLM and of the Hub."""
    folder = ROOT / OURS / "apps" / "hub" / "gateway"
    own = {path.stem for path in folder.glob("*.py")} | {"litellm", "fastapi"}
    wrong = [
        str(found)
        for found in imports()
        if found.file.parent == folder and found.top not in {*sys.stdlib_module_names, *own}
    ]
    assert wrong == []


@pytest.mark.parametrize("sdk", SDKS)
def test_a_vendors_sdk_is_imported_on_first_use_by_one_provider_only(sdk: str) -> None:
    uses = [found for found in imports() if found.top == sdk and not found.typing]
    providers = ROOT / OURS / "plugins" / "providers"
    wrong = [str(found) for found in uses if not found.lazy or not found.file.is_relative_to(providers)]
    assert wrong == [], f"import {sdk} inside a function, and only in plugins/providers"
    assert len({found.file for found in uses}) <= 1, [str(found) for found in uses]


def test_a_wrong_import_is_reported_with_its_file_and_line() -> None:
    path = ROOT / OURS / "engine" / "imagined.py"
    found = list(imports_of(path, ast.parse("import math\ndef f():\n    from jupyter_eca import host\n")))
    assert [str(one) for one in found] == [
        "jupyter_eca/engine/imagined.py:1: imports math",
        "jupyter_eca/engine/imagined.py:3: imports jupyter_eca.host",
    ]
    assert (found[1].room, found[1].imported_room, found[1].lazy) == ("engine", "host", True)


def test_a_ring_is_found() -> None:
    assert sorted(set(ring({"a": {"b"}, "b": {"c"}, "c": {"b"}}))) == ["b", "c"]


@pytest.mark.parametrize("module", [OURS, f"{OURS}.apps.kernel.magic"])
def test_what_every_kernel_loads_imports_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & sys.modules.keys()))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
