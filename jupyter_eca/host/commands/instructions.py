"""The commands about the user's instructions to the model: `/init`, `/rules` and `/sync-system-prompt`. A rule is a
Markdown file with instructions, which may apply only to some files, agents or models.

It must not read the files of instructions: `instructions` does. `host.turn.system_prompt` stores the system prompt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.approval_scope import get_selector
from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.instructions import rules as the_rules
from jupyter_eca.instructions.instruction_context import list_facts
from jupyter_eca.instructions.prompt_texts import read_prompt
from jupyter_eca.instructions.template import render

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.texts import Section
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.host.turn.setup import PromptAndTools
    from jupyter_eca.instructions.rules import InstructionRule

_NO_RULES: Final = (
    "There are no rules for this agent and model. A Markdown file in `.eca/rules` of the workspace, or in "
    "`~/.config/eca/rules`, is one."
)
_SAME: Final = "The model is told what it was told: nothing has changed."


async def get_prompt_and_tools(place: CommandPlace, *, recompose: bool = False) -> PromptAndTools:
    """Return the system prompt and the tools of the chat's model. With `recompose` the system prompt is composed again,
    although one is stored for the chat. Raises: ProviderError when there is no model."""
    host = place.host
    choice = replace((await host.chats.load(place.chat)).choice, model=await host.turns.get_model(place.chat))
    return await host.setups.get_prompt_and_tools(choice, place.chat, place.kernel, recompose=recompose)


async def init(place: CommandPlace, call: CommandCall) -> CommandReplacement:
    """Let the model write or improve `AGENTS.md`."""
    host = place.host
    prompt_and_tools = await get_prompt_and_tools(place)
    agent = host.current.resolved.get_agent((await host.chats.load(place.chat)).choice.agent)
    known_facts = list_facts(
        host.workspace.files, (get_selector(tool) for tool in prompt_and_tools.tools), subagent=False
    )
    agent_config = host.config.agent.get(agent.name)
    # The prompt that the user has configured in place of ours.
    configured = (agent_config.prompts.init if agent_config else "") or host.config.prompts.init
    try:
        text = render(configured or read_prompt("init"), known_facts)
    except ValueError as error:
        host.subscribers.warn(f"The prompt of /init (`prompts.init`) is taken as it is: {error}.")
        text = configured
    return CommandReplacement(f"{text}\n\n{call.text}" if call.text else text)


async def rules(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """List the user's rules, and which of them apply to this chat."""
    host = place.host
    choice = (await host.chats.load(place.chat)).choice
    agent_name, model = host.current.resolved.get_agent(choice.agent).name, await host.turns.get_model(place.chat)
    found = await the_rules.find(host.workspace.files, host.config, host.subscribers.warn)
    applying = [rule for rule in found if rule.applies_to(agent_name, model)]
    other = [rule for rule in found if rule not in applying]
    if not found:
        return CommandAnswer(_NO_RULES)
    prompt_and_tools = await get_prompt_and_tools(place)
    parts = [
        _list_rules("Rules the model reads at the beginning of a chat:", (rule for rule in applying if not rule.paths)),
        _list_rules("Fetched for some files only:", (rule for rule in applying if rule.paths)),
        _list_rules(f"Not for the agent `{agent_name}` with `{model}`:", other),
        _describe_new(applying, prompt_and_tools),
    ]
    return CommandAnswer("\n\n".join(filter(None, parts)))


def _list_rules(head: str, listed: Iterable[InstructionRule]) -> str:
    """Return a list of rules below a heading, "" if there are none."""
    lines = [f"- `{rule.id}`{_describe_scope(rule)}" for rule in listed]
    return "\n".join([head, "", *lines]) if lines else ""


def _describe_scope(rule: InstructionRule) -> str:
    """Return what a rule is limited to, in brackets: ` (files `*.py`; before changes)`. "" for no limit."""
    scopes = {
        "files": rule.paths,
        "before": tuple({"modify": "changes", "read": "reading"}[kind] for kind in rule.enforce) if rule.paths else (),
        "agents": rule.agents,
        "models": rule.models,
    }
    text = "; ".join(
        f"{name} {', '.join(f'`{value}`' for value in values)}" for name, values in scopes.items() if values
    )
    return f" ({text})" if text else ""


def _describe_new(applying: Iterable[InstructionRule], prompt_and_tools: PromptAndTools) -> str:
    """Return a sentence that names those of the rules `applying` to a chat that are newer than its system prompt; ""
    for none."""
    text = prompt_and_tools.pinned.text
    new = [
        rule
        for rule in applying
        if rule.id not in text and not prompt_and_tools.pinned.has_section(the_rules.name_source(rule))
    ]
    if not new:
        return ""
    names = ", ".join(f"`{rule.name}`" for rule in new)
    return f"This chat began without {names}: `/sync-system-prompt` tells the model."


async def sync_system_prompt(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Compose the system prompt of the chat again, and list what has changed. Raises: ProviderError when there is no
    model."""
    old, new = await get_prompt_and_tools(place), await get_prompt_and_tools(place, recompose=True)
    await place.host.system_prompts.save(place.chat, new.pinned)
    lines = _list_section_changes(old.pinned.sections, new.pinned.sections)
    return CommandAnswer("\n".join(["The model is told from now on:", "", *lines]) if lines else _SAME)


def _list_section_changes(old: tuple[Section, ...], new: tuple[Section, ...]) -> list[str]:
    """Return a line for each section of the system prompt that was added, changed or removed."""
    before, after = ({section.source: section.text for section in sections} for sections in (old, new))
    return [
        *(f"- new: {source}" for source in after if source not in before),
        *(f"- changed: {source}" for source in after if before.get(source, after[source]) != after[source]),
        *(f"- no more: {source}" for source in before if source not in after),
    ]


COMMANDS: Final = {
    "init": NativeCommand(
        init,
        "Have AGENTS.md written, or improved: what an assistant must know of this project",
        may_ask_model=True,
    ),
    "rules": NativeCommand(rules, "Show the rules that hold here, and the files they are from"),
    "sync-system-prompt": NativeCommand(
        sync_system_prompt, "Tell the model the instructions and rules as they are now"
    ),
}
