"""Rules: Markdown files that say how to work. A rule holds for all agents, models and files, or for some (ECA's
rules.md). It reads no `AGENTS.md`: `agents_md` does.

Rules lie in `.eca/rules` of a project, in the user's folder, and at the paths of the key `rules`. The system prompt
contains the whole text of a rule without `paths`. It only lists the rules with `paths`, and the model fetches them for
the files it works on.
"""

from __future__ import annotations

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
from jupyter_eca.workspace.files.read_threads import run_read

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
    """One rule, as its file says it. Its text may contain conditions."""

    id: str
    """The real path of its file."""
    name: str
    """The name of its file."""
    root: Path | None
    """The folder of the workspace that the rule belongs to. None for a rule that holds in all of them."""
    text: str
    agents: tuple[str, ...] = ()
    """The agents that the rule is for; empty for all."""
    models: tuple[str, ...] = ()
    """Regular expressions for the names of models; empty for all models."""
    paths: tuple[str, ...] = ()
    """Globs for the files that the rule is for; empty for all files."""
    enforce: tuple[str, ...] = (MODIFY,)
    """Before what the rule must be fetched: `modify`, `read` or both."""

    def holds(self, agent: str, model: str) -> bool:
        return (not self.agents or agent in self.agents) and (
            not self.models or any(re.search(pattern, model) for pattern in self.models)
        )

    def find_pattern(self, path: Path, roots: tuple[Path, ...]) -> str:
        """Return the pattern that a real path matches, or an empty text. A rule of a project matches only files of its
        own folder."""
        for root in roots if self.root is None else (self.root,):
            if path.is_relative_to(root):
                inside = path.relative_to(root).as_posix()
                return next((pattern for pattern in self.paths if _glob(pattern).fullmatch(inside)), "")
        return ""

    def render(self, facts: Mapping[str, bool | str]) -> str:
        """Return the text with its conditions resolved. Raises: ValueError for a condition that is not understood."""
        return render(self.text, facts)


async def find(files: Files, config: Config, warn: Callable[[str], None]) -> tuple[InstructionRule, ...]:
    """Return all rules. Those that hold everywhere come first, because a model gives most weight to what it reads
    last."""
    return await run_read(_find, files, config, warn)


async def sections(context: InstructionContext) -> tuple[Section, ...]:
    every = await find(context.files, context.config, context.warn)
    holding = [rule for rule in every if rule.holds(context.agent.name, context.model)]
    found = [section for rule in holding if not rule.paths and (section := _as_section(rule, context))]
    if found:
        found[0] = Section(found[0].source, f"{_LEAD}\n\n{found[0].text}")
    scoped = [rule for rule in holding if rule.paths]
    if scoped and f"eca__{FETCH}" in context.tools:
        found.append(Section(CATALOGUE, "\n".join([_CATALOGUE, *map(_entry, scoped)])))
    return tuple(found)


def _as_section(rule: InstructionRule, context: InstructionContext) -> Section | None:
    try:
        text = rule.render(context.facts)
    except ValueError as error:
        context.warn(f"The rule {rule.id} is taken as it is: {error}.")
        text = rule.text
    return Section(source(rule), f'<rule name="{rule.name}">\n{text}\n</rule>') if text else None


def source(rule: InstructionRule) -> str:
    return f"Rule {rule.id}"


def _entry(rule: InstructionRule) -> str:
    where = "" if rule.root is None else f" in {rule.root}"
    return f"- id {rule.id}: for {', '.join(rule.paths)}{where}; fetch before: {', '.join(rule.enforce)}"


def _find(files: Files, config: Config, warn: Callable[[str], None]) -> tuple[InstructionRule, ...]:
    found: dict[Path, InstructionRule] = {}
    for path in _list_files(files, config, warn):
        real = path.resolve()
        if real in found:
            continue
        roots = [root for root in (root.resolve() for root in files.roots) if real.is_relative_to(root)]
        root = max(roots, key=lambda folder: len(folder.parts), default=None)
        try:
            found[real] = _parse(real, path.name, root, folders.find_limits(path, files.roots))
        except ValueError as error:
            warn(f"The rule {path} was left out: {error}.")
    return tuple(sorted(found.values(), key=lambda rule: rule.root is not None))


def _list_files(files: Files, config: Config, warn: Callable[[str], None]) -> Iterator[Path]:
    yield from folders.find_markdown_files(files.roots, "rules", nested=True)
    roots = tuple(root.resolve() for root in files.roots)
    for named in config.rules:
        path = Path(named.path).expanduser()
        candidates = [path] if path.is_absolute() else [root / path for root in roots]
        existing = [path for path in candidates if path.exists()]
        if not existing:
            warn(f"There are no rules at {named.path} (`rules` of the configuration).")
        for top in existing:
            listed = sorted(file for file in top.rglob("*") if file.is_file()) if top.is_dir() else [top]
            # A link in a project must not lead out of the workspace. See `folders`.
            inside = any(top.is_relative_to(root) for root in (*roots, *files.roots))
            yield from (file for file in listed if not inside or text_files.within(file, roots))


def _parse(path: Path, name: str, root: Path | None, within: tuple[Path, ...] | None) -> InstructionRule:
    """Parse the file of a rule. Raises: ValueError with the mistake as its message."""
    front, text = split_front_matter(text_files.read_text(path, within))
    rule = InstructionRule(
        str(path),
        name,
        root,
        text,
        tuple(ALIASES.get(agent, agent) for agent in _words(front, "agent")),
        tuple(check_pattern(pattern) for pattern in _words(front, "model")),
        _words(front, "paths"),
        _words(front, "enforce") or (MODIFY,),
    )
    for pattern in rule.paths:
        _glob(pattern)
    if unknown := set(rule.enforce) - {MODIFY, READ}:
        raise ValueError(f"`enforce` is {MODIFY} or {READ}, not {', '.join(sorted(unknown))}")
    return rule


def _words(front: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return the texts of a key, which may be a list or a single text."""
    value: Any = front.get(name)
    every = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(word, str) and word for word in every):
        raise ValueError(f"`{name}` must be a text or a list of texts")
    return tuple(every)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return globs.compile_glob(pattern)
