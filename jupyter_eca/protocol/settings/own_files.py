"""Owns the messages with which a settings page lists, writes and removes agents and skills that are Markdown files of
the user's, and with which a page shows and saves such a file as it is.

The messages are our additions to ECA, the protocol that our clients speak. This module must not open a file:
`host/operations/` does. `approval` is its neighbour: its rules are in JSON files.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model


class SeenFile(Model):
    """A file with the content that the user has seen. It is not changed if it has another content by now. These are
    also the parameters of `agents/remove` and `skills/remove`."""

    file: str
    """The path, as `agents/list` or `skills/list` has sent it."""
    digest: str
    """Identifies the content."""


class WrittenFile(Model):
    """The file that was written."""

    file: str
    """The path of the file, for the user."""


class AgentOrigin(StrEnum):
    """Where an agent is defined."""

    BUILT_IN = "builtIn"
    """In this package."""
    USER = "user"
    """In a Markdown file of the user's own folder."""
    PROJECT = "project"
    """In a Markdown file of the workspace."""
    CONFIGURATION = "configuration"
    """In the configuration."""
    OUTSIDE = "outside"
    """It is a program of its own."""


class AgentEntry(Model):
    """An agent, and where it is defined."""

    name: str
    origin: AgentOrigin
    mode: Literal["primary", "subagent", "both"] = "primary"
    """Who can use the agent: the user, other agents, or both."""
    description: str = ""
    """What the agent is for."""
    model: str | None = None
    """The agent's model as PROVIDER/MODEL; absent for the default model."""
    prompt: str | None = None
    """The text of its Markdown file: the system prompt. Absent for an agent without such a file."""
    disabled_tools: tuple[str, ...] = ()
    """The tools that it does not have, in addition to those disabled for all."""
    files: tuple[str, ...] = ()
    """The files that define it: its Markdown file, or files of the configuration, of which the last one counts."""
    digest: str | None = None
    """Identifies the content of its Markdown file, which can be changed and removed; absent when it has none."""
    error: str | None = None
    """Why its Markdown file cannot be used."""
    held_back: bool = False
    """Whether it takes effect only when the user trusts the folder."""
    locked: str | None = None
    """Why the administrator's policy does not let the user change it."""


class AgentsListResult(Model):
    """All agents."""

    agents: tuple[AgentEntry, ...]
    locked: str | None = None
    """Why the administrator's policy does not let the user add agents."""


class AgentsWriteParams(Model):
    """Writes an agent to a new Markdown file, or changes the file of an existing agent."""

    name: str = Field(min_length=1)
    """Its name. The agent of an existing file keeps its name."""
    scope: Literal["workspace", "global"] = "workspace"
    """Where a new file is made: in the workspace, or in the user's own folder."""
    mode: Literal["primary", "subagent", "both"] = "primary"
    description: str = ""
    model: str | None = None
    """As PROVIDER/MODEL; absent for the default model."""
    prompt: str = ""
    """The system prompt; empty for the built-in one."""
    disabled_tools: tuple[str, ...] = ()
    old: SeenFile | None = None
    """The file that is changed; absent for a new one."""


class SkillSource(StrEnum):
    """Where the file of a skill is."""

    PROJECT = "project"
    """In a folder of the workspace."""
    CONFIGURATION = "configuration"
    """At a path of the configuration."""
    USER = "user"
    """In the user's own folders."""
    BUILT_IN = "builtIn"
    """In this package."""


class SkillEntry(Model):
    """A `SKILL.md`: instructions for one kind of work, which the model loads when they fit."""

    name: str
    """Its name; the name of its folder if the file cannot be used."""
    origin: SkillSource
    description: str = ""
    """When to use it. The system prompt contains this."""
    body: str | None = None
    """The instructions; absent if the file cannot be read."""
    file: str
    """The path of the `SKILL.md`."""
    digest: str | None = None
    """Identifies the content of the file, which can be changed and removed; absent when it cannot."""
    error: str | None = None
    """Why the file cannot be used."""
    is_overridden: bool = False
    """Whether another skill of the same name is used in its place."""


class SkillsListResult(Model):
    """All skills, those with precedence first."""

    skills: tuple[SkillEntry, ...]


class SkillsWriteParams(Model):
    """Writes a skill to a new `SKILL.md`, or changes the file of an existing skill."""

    name: str = Field(min_length=1)
    """Its name. The skill of an existing file keeps its name."""
    scope: Literal["workspace", "global"] = "workspace"
    """Where a new file is made: in the workspace, or in the user's own folder."""
    description: str = Field(min_length=1)
    """When the model should use the skill."""
    body: str = ""
    """The instructions for the model."""
    old: SeenFile | None = None
    """The file that is changed; absent for a new one."""


class SkillsPreviewParams(Model):
    """Asks for the text that the model gets when it loads a skill."""

    name: str


class SkillsPreviewResult(Model):
    """The text that the model gets when it loads a skill."""

    text: str


class OwnFilesReadParams(Model):
    """Asks for the text of a file of the user's that a settings page has shown."""

    file: str
    """The file, as the settings page has shown it."""


class OwnFile(Model):
    """A file of the user's, as it is."""

    text: str
    digest: str
    """Identifies the content."""


class OwnFilesWriteParams(Model):
    """Replaces the text of a file of the user's."""

    file: str
    """The file, as the settings page has shown it."""
    digest: str
    """Identifies the content that the user has seen. If the file has another content by now, it is not changed."""
    text: str
    """The whole new text."""
