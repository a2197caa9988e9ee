"""Owns `SurvivorList`: the changes that no test notices, and why none should. It is read from `survivors.toml`.

A change is listed by itself, or as one of a kind: a pattern for the whole key. A kind says in one place what is true of
many changes, such as those of the words of a sentence. Its survivors count as all others do.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.mutations.mutants import Mutant

FILE: Final = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class SurvivorKind:
    """Changes of one kind, for the same reason."""

    reason: str
    """Why no test should notice them."""
    pattern: re.Pattern[str]
    """Matches the whole key of each of them."""
    is_of_texts: bool
    """Whether only those changes are meant that give a text other letters."""

    def has(self, mutant: Mutant) -> bool:
        """Return whether a change is of this kind."""
        return (mutant.changes_text or not self.is_of_texts) and self.pattern.fullmatch(mutant.key) is not None


@dataclass(frozen=True)
class SurvivorList:
    """The survivors that were looked at."""

    modules: tuple[str, ...]
    """The modules of which all survivors were looked at."""
    reasons: dict[str, str]
    """The reasons of single changes, by their keys."""
    kinds: tuple[SurvivorKind, ...]
    """The kinds of changes."""

    def find_reason(self, mutant: Mutant) -> str | None:
        """Return why no test should notice a change; None if it is not listed."""
        of_kinds = (kind.reason for kind in self.kinds if kind.has(mutant))
        return self.reasons.get(mutant.key) or next(of_kinds, None)

    def list_empty_kinds(self, survived: Collection[Mutant], tried: Collection[Mutant]) -> list[str]:
        """Return the patterns of the kinds of which changes were tried, and none of these has survived."""
        of_survivors = {kind for kind in self.kinds if any(map(kind.has, survived))}
        empty = (kind for kind in self.kinds if kind not in of_survivors and any(map(kind.has, tried)))
        return [kind.pattern.pattern for kind in empty]


def read_survivors() -> SurvivorList:
    """Return the list in the file."""
    listed: dict[str, Any] = tomllib.loads(FILE.read_text("utf-8"))
    reasons = {key: str(group["reason"]) for group in listed["group"] for key in group["mutants"]}
    kinds = (
        SurvivorKind(str(kind["reason"]), re.compile(pattern, re.DOTALL), bool(kind.get("texts")))
        for kind in listed.get("kind", ())
        for pattern in kind["patterns"]
    )
    return SurvivorList(tuple(listed["modules"]), reasons, tuple(kinds))
