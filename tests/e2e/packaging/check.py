"""`python -m tests.e2e.packaging.check dist` checks the wheel and the sdist in a folder: what is in them, and that the
wheel works in a new environment where there is no Node.js. Run by `make dist`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final

# What a wheel must have, as regular expressions for whole names.
NEEDED: Final = (
    r"jupyter_eca/__init__\.py",
    r"jupyter_eca/py\.typed",
    r"jupyter_eca/apps/kernel/static/panel\.(?:js|css)",
    r"jupyter_eca/apps/kernel/static/third-party-licenses\.json",
    r".*/share/jupyter/labextensions/jupyter-eca/package\.json",
    r".*/share/jupyter/labextensions/jupyter-eca/static/remoteEntry\.\w+\.js",
    r".*/share/jupyter/labextensions/jupyter-eca/static/third-party-licenses\.json",
    r".*/share/jupyter/kernels/eca/kernel\.json",
    r".*/etc/jupyter/jupyter_server_config\.d/jupyter_eca\.json",
    r".*\.dist-info/licenses/LICENSE",
)
# What nobody needs who installs it.
UNWANTED: Final = r".*(?:\.map|/node_modules/.*|build_log\.json)|tests/.*|.*__pycache__.*"


def find_faults(names: set[str]) -> list[str]:
    """What is missing in a wheel of these files, and what should not be there."""
    missing = [f"lacks {pattern}" for pattern in NEEDED if not any(re.fullmatch(pattern, name) for name in names)]
    return [*missing, *(f"has {name}" for name in sorted(names) if re.fullmatch(UNWANTED, name))]


def install(wheel: Path, folder: Path) -> Path:
    """Make a new environment with the wheel, and return its folder of programs."""
    environment = folder / "environment"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, environment], check=True)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([uv, "pip", "install", "-q", "--python", programs / "python", wheel], check=True)
    return programs


def use(programs: Path, folder: Path) -> None:
    """Use the wheel as its users do. No other program is on the PATH, so no Node.js."""
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "Hello, {message}"}]}]}))
    models = {"test": {"script": str(script)}}
    config = folder / "config.json"
    config.write_text(json.dumps({"providers": {"scripted": {"models": models}}, "defaultModel": "scripted/test"}))
    variables = {
        "PATH": str(programs),
        "HOME": str(folder),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "SYSTEMROOT": os.environ.get("SYSTEMROOT", ""),
    }

    def run(*arguments: str) -> str:
        command = [programs / arguments[0], *arguments[1:]]
        done = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "Hello, world" in run("jupyter-eca", "ask", "world", "--config-file", str(config))
    report = run("jupyter-eca", "doctor", "--config-file", str(config))
    assert "Default model: `scripted/test`" in report
    assert "server extension is not enabled" not in report
    assert re.search(r"jupyter_eca\W.*OK", run("jupyter-server", "extension", "list")), "the extension does not load"
    # So that the kernels of the wheel are found: it brings one that speaks to the assistant.
    assert "eca" in run("jupyter-kernelspec", "list")


def main(folder: Path) -> None:
    """Check the wheel and the sdist in a folder. Raises: AssertionError, SystemExit."""
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened:
        if faults := find_faults(set(opened.namelist())):
            raise SystemExit(f"{wheel.name} " + ", ".join(faults))
        here = str(Path.cwd())
        inside = [name for name in opened.namelist() if here.encode() in opened.read(name)]
        assert not inside, f"{inside} name the folder in which they were built"
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        assert {"pyproject.toml", "LICENSE", "labextension/package.json", "jupyter_eca/__init__.py"} <= names
    with tempfile.TemporaryDirectory() as temporary:
        use(install(wheel, Path(temporary)), Path(temporary))
    sys.stdout.write(f"{wheel.name} and {sdist.name} are complete, and the wheel works without Node.js.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
