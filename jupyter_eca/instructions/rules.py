"""Rules: Markdown that says how to work, for all agents, models and files or for some (ECA's rules.md).

They are in `.eca/rules` of a project, in the user's folder, and where the key `rules` says. Those without `paths` are
told whole; of those with `paths` only that they are there, and the model fetches them for the files it works on.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import folders
from jupyter_eca.config.front_matter import split_front_matter
from jupyter_eca.config.provider_schema import check_pattern
from jupyter_eca.config.schema import ALIASES
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import globs, text_files
from jupyter_eca.instructions.template import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.instructions.base import InstructionContext
    from jupyter_eca.workspace.ports import Files

FETCH: Final = "fetch_rule"
CATALOGUE: Final = "Rules for paths"

MODIFY: Final = "modify"
READ: Final = "read"

_LEAD: Final = """The user's rules; follow them. Those of the project win over those that hold everywhere."""
_CATALOGUE: Final = """Rules for some files only. Before you change (`modify`) or read (`read`) a file that one of \
them matches, fetch that rule with `fetch_rule`, by its id and the absolute path of the file; once for each rule."""


@dataclass(frozen=True, slots=True)
class InstructionRule:
    """`root` is the folder of the project that it is of, None for one that holds everywhere; `id` its real path."""

    id: str
    name: str
    root: Path | None
    text: str
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    enforce: tuple[str, ...] = (MODIFY,)

    def holds(self, agent: str, model: str) -> bool:
        return (not self.agents or agent in self.agents) and (
            not self.models or any(re.search(pattern, model) for pattern in self.models)
        )

    def find_pattern(self, path: Path, roots: tuple[Path, ...]) -> str:
        """Return the pattern that a real path matches, "" for none. A rule of a project knows its own folder alone."""
        for root in roots if self.root is None else (self.root,):
            if path.is_relative_to(root):
                inside = path.relative_to(root).as_posix()
                return next((one for one in self.paths if _glob(one).fullmatch(inside)), "")
        return ""

    def render(self, facts: Mapping[str, bool | str]) -> str:
        """Return the text with its conditions resolved. Raises: ValueError for a condition that is not understood."""
        return render(self.text, facts)


async def find(files: Files, config: Config, warn: Callable[[str], None]) -> tuple[InstructionRule, ...]:
    """Return all rules, first those that hold everywhere: what is read last weighs most."""
    return await asyncio.to_thread(_find, files, config, warn)


async def sections(place: InstructionContext) -> tuple[Section, ...]:
    every = await find(place.files, place.config, place.warn)
    holding = [rule for rule in every if rule.holds(place.agent.name, place.model)]
    told = [section for rule in holding if not rule.paths and (section := _as_section(rule, place))]
    if told:
        told[0] = Section(told[0].source, f"{_LEAD}\n\n{told[0].text}")
    scoped = [rule for rule in holding if rule.paths]
    if scoped and f"eca__{FETCH}" in place.tools:
        told.append(Section(CATALOGUE, "\n".join([_CATALOGUE, *map(_entry, scoped)])))
    return tuple(told)


def _as_section(rule: InstructionRule, place: InstructionContext) -> Section | None:
    try:
        text = rule.render(place.facts)
    except ValueError as error:
        place.warn(f"The rule {rule.id} is taken as it is: {error}.")
        text = rule.text
    return Section(source(rule), f'<rule name="{rule.name}">\n{text}\n</rule>') if text else None


def source(rule: InstructionRule) -> str:
    return f"Rule {rule.id}"


def _entry(rule: InstructionRule) -> str:
    where = "" if rule.root is None else f" in {rule.root}"
    return f"- id {rule.id}: for {', '.join(rule.paths)}{where}; fetch before: {', '.join(rule.enforce)}"


def _find(files: Files, config: Config, warn: Callable[[str], None]) -> tuple[InstructionRule, ...]:
    found: dict[Path, InstructionRule] = {}
    for path in _files(files, config, warn):
        real = path.resolve()
        if real in found:
            continue
        roots = [root for root in (root.resolve() for root in files.roots) if real.is_relative_to(root)]
        root = max(roots, key=lambda one: len(one.parts), default=None)
        try:
            found[real] = _parse(real, path.name, root)
        except ValueError as error:
            warn(f"The rule {path} was left out: {error}.")
    return tuple(sorted(found.values(), key=lambda rule: rule.root is not None))


def _files(files: Files, config: Config, warn: Callable[[str], None]) -> Iterator[Path]:
    yield from folders.find_markdown_files(files.roots, "rules", nested=True)
    roots = tuple(root.resolve() for root in files.roots)
    for named in config.rules:
        path = Path(named.path).expanduser()
        places = [path] if path.is_absolute() else [root / path for root in roots]
        there = [place for place in places if place.exists()]
        if not there:
            warn(f"There are no rules at {named.path} (`rules` of the configuration).")
        for place in there:
            listed = sorted(one for one in place.rglob("*") if one.is_file()) if place.is_dir() else [place]
            # As in `folders`: what lies in a project may not lead out of it.
            inside = any(place.is_relative_to(root) for root in (*roots, *files.roots))
            yield from (one for one in listed if not inside or text_files.within(one, roots))


def _parse(path: Path, name: str, root: Path | None) -> InstructionRule:
    """Parse a file. Raises: ValueError that says what is wrong."""
    front, text = split_front_matter(text_files.read_text(path))
    rule = InstructionRule(
        str(path),
        name,
        root,
        text,
        tuple(ALIASES.get(one, one) for one in _words(front, "agent")),
        tuple(check_pattern(one) for one in _words(front, "model")),
        _words(front, "paths"),
        _words(front, "enforce") or (MODIFY,),
    )
    for pattern in rule.paths:
        _glob(pattern)
    if unknown := set(rule.enforce) - {MODIFY, READ}:
        raise ValueError(f"`enforce` is {MODIFY} or {READ}, not {', '.join(sorted(unknown))}")
    return rule


def _words(front: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return a list, also of a single word."""
    value: Any = front.get(name)
    every = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(one, str) and one for one in every):
        raise ValueError(f"`{name}` must be a text or a list of texts")
    return tuple(every)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return globs.compile_glob(pattern)
