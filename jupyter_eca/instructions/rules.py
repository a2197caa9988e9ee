"""Finds the user's rules: Markdown files that say how to work. A rule applies to all agents, models and files, or only
to some of them (ECA's rules.md).

Rules are in `.eca/rules` of a project, in the user's folder, and at the paths of the configuration key `rules`. The
system prompt contains the whole text of a rule without `paths`. A rule with `paths` is a rule for certain paths. The
system prompt only lists such a rule, and the model fetches it when it works on a file that the rule applies to.

The module must not read `AGENTS.md`: `agents_md.py` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import folders
from jupyter_eca.config.front_matter import parse_front_matter
from jupyter_eca.config.provider_schema import check_pattern
from jupyter_eca.config.schema import AGENT_ALIASES
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import globs, text_files
from jupyter_eca.instructions.template import render
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.instructions.instruction_context import InstructionContext
    from jupyter_eca.workspace.ports import Files

FETCH: Final = "fetch_rule"
"""The name of the tool that fetches a rule."""
CATALOGUE: Final = "Rules for paths"
"""The `source` of the section that lists the rules for certain paths."""

# The values of `enforce`: what a model may do with a file only after it has fetched the rule.
MODIFY: Final = "modify"
READ: Final = "read"

# The texts before the rules for all files, and before the list of rules for certain paths.
_LEAD: Final = """The user's rules; follow them. Those of the project win over those that hold everywhere."""
_CATALOGUE: Final = """Rules for some files only. Before you change (`modify`) or read (`read`) a file that one of \
them matches, fetch that rule with `fetch_rule`, by its id and the absolute path of the file; once for each rule."""


@dataclass(frozen=True, slots=True)
class InstructionRule:
    """One rule. Its text may contain conditions of the template syntax, which are not resolved yet."""

    id: str
    """The real path of its file."""
    name: str
    """The name of its file."""
    root: Path | None
    """The folder of the workspace that the rule belongs to; None for a rule that applies to all folders."""
    text: str
    """The text of the file below its front matter."""
    agents: tuple[str, ...] = ()
    """The agents that the rule applies to; empty for all."""
    models: tuple[str, ...] = ()
    """Regular expressions for the names of the models that the rule applies to; empty for all."""
    paths: tuple[str, ...] = ()
    """Globs for the files that the rule applies to; empty for all files."""
    enforce: tuple[str, ...] = (MODIFY,)
    """The actions before which the rule must be fetched: `modify`, `read` or both."""

    def applies_to(self, agent: str, model: str) -> bool:
        """Return whether the rule applies to this agent and this model."""
        return (not self.agents or agent in self.agents) and (
            not self.models or any(re.search(pattern, model) for pattern in self.models)
        )

    def find_pattern(self, path: Path, roots: tuple[Path, ...]) -> str:
        """Return the first pattern that matches a real path; empty when none does. A rule of a project matches only
        files of its own folder."""
        for root in roots if self.root is None else (self.root,):
            if path.is_relative_to(root):
                inside = path.relative_to(root).as_posix()
                return next((pattern for pattern in self.paths if _compile_glob(pattern).fullmatch(inside)), "")
        return ""

    def render(self, facts: Mapping[str, bool | str]) -> str:
        """Return the text with its conditions resolved.

        Raises: ValueError for a condition that is not valid.
        """
        return render(self.text, facts)


async def find(files: Files, config: Config, warn: Callable[[str], None]) -> tuple[InstructionRule, ...]:
    """Return all rules. The rules of a project come last, because a model gives most weight to what it reads last."""
    return await run_read(_find_rules, files, config, warn)


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return a section for each rule that applies to all files, and one section that lists the rules for certain
    paths."""
    all_rules = await find(context.files, context.config, context.warn)
    applicable = [rule for rule in all_rules if rule.applies_to(context.agent.name, context.model)]
    found = [section for rule in applicable if not rule.paths and (section := _as_section(rule, context))]
    if found:
        found[0] = Section(found[0].source, f"{_LEAD}\n\n{found[0].text}")
    scoped = [rule for rule in applicable if rule.paths]
    if scoped and f"eca__{FETCH}" in context.tools:
        found.append(Section(CATALOGUE, "\n".join([_CATALOGUE, *map(_format_entry, scoped)])))
    return tuple(found)


def _as_section(rule: InstructionRule, context: InstructionContext) -> Section | None:
    """Return the section of a rule; None when its conditions leave no text."""
    try:
        text = rule.render(context.facts)
    except ValueError as error:
        context.warn(f"The rule {rule.id} is taken as it is: {error}.")
        text = rule.text
    return Section(name_source(rule), f'<rule name="{rule.name}">\n{text}\n</rule>') if text else None


def name_source(rule: InstructionRule) -> str:
    """Return the `source` of the section of a rule."""
    return f"Rule {rule.id}"


def _format_entry(rule: InstructionRule) -> str:
    """Return the line of the list for a rule."""
    where = "" if rule.root is None else f" in {rule.root}"
    return f"- id {rule.id}: for {', '.join(rule.paths)}{where}; fetch before: {', '.join(rule.enforce)}"


def _find_rules(files: Files, config: Config, warn: Callable[[str], None]) -> tuple[InstructionRule, ...]:
    """Return all rules. This blocks. See `find`."""
    found: dict[Path, InstructionRule] = {}
    for path in _list_files(files, config, warn):
        real = path.resolve()
        if real in found:
            continue
        roots = [root for root in (root.resolve() for root in files.roots) if real.is_relative_to(root)]
        root = max(roots, key=lambda folder: len(folder.parts), default=None)
        try:
            found[real] = _parse(real, path.name, root, folders.find_allowed_folders(path, files.roots))
        except ValueError as error:
            warn(f"The rule {path} was left out: {error}.")
    return tuple(sorted(found.values(), key=lambda rule: rule.root is not None))


def _list_files(files: Files, config: Config, warn: Callable[[str], None]) -> Iterator[Path]:
    """Yield the paths of all files with rules."""
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
            # A link in a project must not lead out of the workspace. See `config/folders.py`.
            inside = any(top.is_relative_to(root) for root in (*roots, *files.roots))
            yield from (file for file in listed if not inside or text_files.is_within(file, roots))


def _parse(path: Path, name: str, root: Path | None, within: tuple[Path, ...] | None) -> InstructionRule:
    """Parse the file of a rule. `path` is its resolved path, and `root` the folder of the workspace that it lies in.
    `within` are the folders that the file must lie in; None for any.

    Raises: ValueError with the mistake as its message.
    """
    front, text = parse_front_matter(text_files.read_text(path, within))
    rule = InstructionRule(
        str(path),
        name,
        root,
        text,
        tuple(AGENT_ALIASES.get(agent, agent) for agent in _read_texts(front, "agent")),
        tuple(check_pattern(pattern) for pattern in _read_texts(front, "model")),
        _read_texts(front, "paths"),
        _read_texts(front, "enforce") or (MODIFY,),
    )
    for pattern in rule.paths:
        _compile_glob(pattern)
    if unknown := set(rule.enforce) - {MODIFY, READ}:
        raise ValueError(f"`enforce` is {MODIFY} or {READ}, not {', '.join(sorted(unknown))}")
    return rule


def _read_texts(front: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return the value of a key in the front matter, which may be a list of texts or a single text.

    Raises: ValueError when it is something else.
    """
    value: Any = front.get(name)
    values = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(word, str) and word for word in values):
        raise ValueError(f"`{name}` must be a text or a list of texts")
    return tuple(values)


@cache
def _compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for a pattern of paths. It is cached, because each turn compares many paths. Raises:
    ValueError."""
    return globs.compile_glob(pattern)
