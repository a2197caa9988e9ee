"""Owns the import of single modules of a package whose `__init__` imports much more than is needed.

`import anthropic` runs 3,200 modules, because the package also has the clients of clouds that most people never use.
A request needs fewer. So only the modules of the names that we use are imported, and `__init__` runs as soon as
somebody asks the package for any other name. For that the package gets a `__getattr__` (PEP 562). The same is done for
packages within it that import much, such as `anthropic.types`. Others who import the package in this process find all
its names.

It must not know what the package is for: a provider has the names.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.abc import Loader
    from types import ModuleType

# Held while modules are imported, so that a second thread does not take the unfinished package for a finished one.
_importing = RLock()


class _DeferredInit:
    """The `__getattr__` and the `__dir__` of a package whose `__init__` has not run."""

    def __init__(self, package: ModuleType, loader: Loader, lock: RLock) -> None:
        """`lock` is one for all packages that are within each other, because the `__init__` of one may run that of
        another."""
        vars(package).update(__getattr__=self.get, __dir__=self.list_names)
        self._package = package
        self._loader = loader
        self._has_run = False  # whether `__init__` has run to its end
        self._lock = lock
        self.importing_threads = {get_ident()}
        """The threads that import modules of the package now, or run its `__init__`. A name that is missing for them is
        that of a module, which they import next."""

    def get(self, name: str) -> Any:
        """Return what a name stands for, which the package does not have yet. Raises: AttributeError."""
        if get_ident() not in self.importing_threads:
            self._run_init()
            if name in vars(self._package):
                return vars(self._package)[name]
        raise AttributeError(f"module {self._package.__name__!r} has no attribute {name!r}")

    def list_names(self) -> list[str]:
        """Return all names of the package, for `dir` and for completions in a cell."""
        self._run_init()
        return sorted(vars(self._package))

    def _run_init(self) -> None:
        """Run `__init__`, or wait until another thread has run it. If it raises an error, it is run again for the next
        name that somebody asks for."""
        with self._lock:
            if self._has_run:
                return
            self.importing_threads.add(get_ident())
            try:
                self._loader.exec_module(self._package)
                self._has_run = True
                for name, own in (("__getattr__", self.get), ("__dir__", self.list_names)):
                    if vars(self._package)[name] == own:  # the package may have one itself
                        del vars(self._package)[name]
            finally:
                self.importing_threads.discard(get_ident())


def import_parts(
    name: str, parts: Mapping[str, str], inner_parts: Mapping[str, Mapping[str, str]] | None = None
) -> ModuleType:
    """Return the package of this name, in which the names of `parts` can be used. Blocks: this can take a second.

    `parts` has, for each name, the module of the package that defines the name. `inner_parts` has such tables for
    packages within this one, such as `types`. An inner package comes after the one that contains it. The `__init__` of
    an inner package does not run, either, and none of them may need the names of another inner package. If the package
    has other modules than these, it is imported as usual. A package that is imported already stays as it is. Raises:
    ImportError.
    """
    with _importing:
        if name in sys.modules:
            return importlib.import_module(name)
        lock = RLock()
        deferred: list[_DeferredInit] = []  # the packages whose `__init__` does not run now
        names = {name: parts} | {f"{name}.{inner}": own for inner, own in (inner_parts or {}).items()}
        try:
            deferred.extend(_defer_init(package, lock) for package in names)
            for package, own in reversed(names.items()):
                for attribute, part in own.items():
                    module = importlib.import_module(f"{package}.{part}")
                    setattr(sys.modules[package], attribute, getattr(module, attribute))
        except (ImportError, AttributeError):  # another version of the package, whose modules have other names
            pass
        finally:
            for one in deferred:
                one.importing_threads.discard(get_ident())
        return importlib.import_module(name)


def _defer_init(name: str, lock: RLock) -> _DeferredInit:
    """Put a package where Python finds it, and do not run its `__init__`. Raises: ImportError."""
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no package {name}")
    package = sys.modules[name] = module_from_spec(spec)
    outer, _, own_name = name.rpartition(".")
    if outer:
        setattr(sys.modules[outer], own_name, package)
    return _DeferredInit(package, spec.loader, lock)
