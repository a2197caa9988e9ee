"""Finds mistakes of the installation: old packages, a panel of another version or switched off, a server extension that
is off, kernels without our package.

It reads only files, and never starts a program.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from jupyter_eca._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = "jupyter-eca"
_MODULE: Final = "jupyter_eca"
# The oldest JupyterLab that the panel works in. It is optional, so the package does not require it.
_OLDEST_LAB: Final = "4.3"


def find_installation_problems() -> Iterator[str]:
    """Yield the mistakes of the installation. Blocks: it reads files."""
    yield from _find_old_packages()
    yield from _find_panel_problems()
    if _is_server_extension_enabled() is not True:
        yield (
            "The server extension is not enabled, so the panel has no connection. Run `jupyter server extension enable "
            f"{_MODULE}`, and restart Jupyter."
        )
    yield from _find_kernels_without_package()


def _read_version(package: str) -> str:
    """Return the version of an installed package, "" if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _find_old_packages() -> Iterator[str]:
    """Yield the packages that are missing, or whose version we do not work with."""
    try:
        lines = importlib.metadata.requires(_NAME) or []
    except importlib.metadata.PackageNotFoundError:
        lines = []
    for line in (*lines, f"jupyterlab>={_OLDEST_LAB}"):
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        installed = _read_version(requirement.name)
        if installed and not requirement.specifier.contains(installed, prereleases=True):
            yield (
                f"{requirement.name} {installed} is installed, but {requirement.specifier} is needed. Run `pip install "
                f'"{requirement.name}{requirement.specifier}"`.'
            )


def _find_panel_problems() -> Iterator[str]:
    """Yield what is wrong with the panel in JupyterLab."""
    from jupyter_core.paths import jupyter_path

    if not _read_version("jupyterlab"):
        return
    found = next(
        (file for folder in jupyter_path("labextensions", _NAME) if (file := Path(folder, "package.json")).is_file()),
        None,
    )
    if found is None:
        yield f"The panel is not installed in this JupyterLab. Run `pip install --force-reinstall {_NAME}`."
        return
    version = str(_read_json(found).get("version", ""))
    if not _is_same_version(version, __version__):
        yield (
            f"The panel in {found.parent} has the version {version}, but the package has {__version__}. Remove that "
            f"folder, and run `pip install --force-reinstall {_NAME}`."
        )
    if place := _find_disabled_panel():
        yield f"The panel is switched off in {place}. Run `jupyter labextension enable {_NAME}`, and reload the page."


def _is_same_version(first: str, second: str) -> bool:
    """Return whether two versions are the same. npm and Python write some of them in different ways."""
    try:
        return Version(first) == Version(second)
    except InvalidVersion:
        return first == second


def _find_disabled_panel() -> Path | None:
    """Return the file that switches the panel off, None for no such file. The first file that names it counts."""
    from jupyter_core.paths import jupyter_config_path

    settings = Path(sys.prefix, "share", "jupyter", "lab", "settings")
    for folder in (*(Path(place, "labconfig") for place in jupyter_config_path()), settings):
        written: Any = _read_json(folder / "page_config.json").get("disabledExtensions")
        if isinstance(written, list):
            written = dict.fromkeys(cast("list[str]", written), True)
        if isinstance(written, dict) and _NAME in written:
            return folder / "page_config.json" if cast("dict[str, Any]", written)[_NAME] is True else None
    return None


def _is_server_extension_enabled() -> bool | None:
    """Return whether the server extension is enabled; None when no file decides it. The first folder counts most, and
    in each folder the file `jupyter_server_config.json` counts more than the files in `jupyter_server_config.d`."""
    from jupyter_core.paths import jupyter_config_path

    for folder in map(Path, jupyter_config_path()):
        files_folder = folder / "jupyter_server_config.d"
        files = sorted(files_folder.glob("*.json"), reverse=True) if files_folder.is_dir() else []
        for file in (folder / "jupyter_server_config.json", *files):
            app: Any = _read_json(file).get("ServerApp")
            switches: Any = cast("dict[str, Any]", app).get("jpserver_extensions") if isinstance(app, dict) else None
            if isinstance(switches, dict) and _MODULE in switches:
                return cast("dict[str, Any]", switches)[_MODULE] is True
    return None


def _read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file, empty when there is none."""
    try:
        data: Any = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _find_kernels_without_package() -> Iterator[str]:
    """Yield the Python kernels whose environment does not have our package: `%eca` does not work in them."""
    from jupyter_client.kernelspec import KernelSpecManager

    for name, folder in sorted(KernelSpecManager().find_kernel_specs().items()):
        spec = _read_json(Path(folder, "kernel.json"))
        arguments: Any = spec.get("argv")
        if str(spec.get("language", "")).casefold() != "python" or not isinstance(arguments, list) or not arguments:
            continue
        program = Path(str(cast("list[Any]", arguments)[0]))
        if program.is_absolute() and program.name.startswith("python") and _lacks_package(program):
            yield (
                f"The kernel {name!r} runs in an environment without {_NAME}, so the assistant does not work in its "
                f"cells. Run `{program} -m pip install {_NAME}`."
            )


def _lacks_package(program: Path) -> bool:
    """Return whether the environment of a Python does not have our package. False when this is not certain."""
    # On Windows, a Python that is in no virtual environment lies directly in the folder of its environment.
    prefix = program.parent if os.name == "nt" and program.parent.name != "Scripts" else program.parent.parent
    if not program.exists() or prefix.resolve() == Path(sys.prefix).resolve():
        return False
    # With this setting, an environment also has the packages of the Python from which it was made.
    settings = prefix / "pyvenv.cfg"
    if settings.is_file() and "include-system-site-packages = true" in settings.read_text("utf-8", "replace"):
        return False
    places = [
        *prefix.glob("lib/python3*/site-packages"),
        *prefix.glob("lib/python3*/dist-packages"),
        *prefix.glob("Lib/site-packages"),
    ]
    return bool(places) and not any(any(place.glob(f"{_MODULE}*")) for place in places)
