"""A program that describes variables in an environment without our package, as a kernel does: it executes the source
on its stdin, and writes what `introspect.py` and `profile.py` say of the variables in it.

    python describe_variables.py FOLDER_OF_THE_MODULES NAME ...
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(sys.argv[1], f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    introspect, profile = load("introspect"), load("profile")
    # The machine may be busy.
    introspect.LIMIT_S = introspect.TOTAL_S = introspect.PROFILE_S = profile.DEADLINE_S = 60
    namespace: dict[str, Any] = {}
    exec(sys.stdin.read(), namespace)  # noqa: S102  # the source of a test
    print(introspect.describe(namespace, sys.argv[2:], set(), profile.profile))


if __name__ == "__main__":
    main()
