"""Builds the requests to rewrite a selection or to complete text at the cursor, and extracts the text from the answer.

It must not send a request or change an editor. `plugins/providers` sends requests. The caller of this module,
`fronts/eca/rewrites_and_completions`, returns the text to the client.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart

# The system prompts of the two requests.
_REWRITE = """You rewrite a piece of text in an editor. You are given the selected text and an instruction. Answer \
with the text that takes its place, and with nothing else: no explanation, no greeting, no code fence around it. Keep \
the language, the indentation and the style of the selection unless the instruction says otherwise."""

_COMPLETE = """You complete text at the cursor of an editor. You are given what stands before and after the cursor. \
Answer with the text to insert at the cursor, and with nothing else: no explanation, no code fence, nothing of what is \
already there. Stop after one statement or sentence, or at most a few lines. When nothing fits, answer with nothing."""

# Two errors for the user.
REWRITE_EMPTY = "The model sent an empty answer; the text was left as it is. Ask again, or choose another model."
NO_COMPLETION_MODEL = (
    "Inline completion is off: no model is chosen for it. "
    'Set `"completion": {"model": "PROVIDER/MODEL"}` in ~/.config/eca/config.json.'
)

# How much text a completion may send, because it is paid for: about 1,000 tokens before the cursor and 250 after it.
BEFORE_CHARS = 4_000
AFTER_CHARS = 1_000

# The shortest code fence of Markdown.
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class TextSelection:
    """A piece of text to rewrite."""

    text: str
    """The selected text."""
    instruction: str
    """How the user wants it rewritten."""
    place: str = ""
    """The file and the lines of the text, for the model; empty when they are unknown."""


def describe_place(path: str | None, lines: tuple[int, int] | None) -> str:
    """Return the file and the lines as text for the model; "" without a path. `lines` are the first and the last line,
    counted from 0."""
    return f"{path}, lines {lines[0] + 1} to {lines[1] + 1}" if path and lines else path or ""


def build_rewrite_request(model: str, selection: TextSelection) -> ModelRequest:
    """Return the request to rewrite a selection."""
    place = f"From: {selection.place}\n\n" if selection.place else ""
    prompt = f"{place}<selection>\n{selection.text}\n</selection>\n\nInstruction: {selection.instruction}"
    return _build_request(model, _REWRITE, prompt)


def build_completion_request(model: str, before: str, after: str) -> ModelRequest:
    """Return the request to complete text at the cursor."""
    prompt = f"<before>{before[-BEFORE_CHARS:]}</before>\n<after>{after[:AFTER_CHARS]}</after>"
    return _build_request(model, _COMPLETE, prompt)


def _build_request(model: str, system: str, prompt: str) -> ModelRequest:
    """Return a request with a system prompt and one message of the user."""
    return ModelRequest(model, system, (ChatMessage("user", (TextPart(prompt),)),))


def extract_replacement(original: str, answer: str) -> str:
    """Return the text that replaces `original`: the answer, without the code fence that a model put around it.

    If the original text begins with a code fence itself, the fence of the answer stays. If the original text ends with
    a line break, the result does too.
    """
    text = answer if original.lstrip().startswith(_FENCE) else remove_fence(answer)
    return f"{text}\n" if original.endswith("\n") and not text.endswith("\n") else text


def remove_fence(text: str) -> str:
    """Return the text without a code fence (three or more backquotes) around all of it. A text with more than one fence
    stays as it is."""
    lines = text.strip().split("\n")
    fence = lines[0][: len(lines[0]) - len(lines[0].lstrip("`"))]
    inside = [line.strip() for line in lines[1:-1]]
    has_fence = len(lines) > 1 and len(fence) >= len(_FENCE) and "`" not in lines[0][len(fence) :]
    if not has_fence or lines[-1].strip() != fence or any(line.startswith(fence) for line in inside):
        return text
    return "\n".join(lines[1:-1])


def split_at(text: str, line: int, character: int) -> tuple[str, str]:
    """Return the text before and after a position. `line` and `character` are counted from 0. A position outside of the
    text counts as the nearest one inside."""
    lines = text.split("\n")
    if line >= len(lines):
        return text, ""
    start = sum(len(before) + 1 for before in lines[: max(line, 0)])
    index = start + min(max(character, 0), len(lines[max(line, 0)]))
    return text[:index], text[index:]


def extract_insertion(before: str, answer: str) -> str:
    """Return the answer without a code fence, and without the beginning of the current line if the model repeats it."""
    text = remove_fence(answer)
    line = before.rpartition("\n")[2]
    text = text.removeprefix(line) if line.strip() else text
    return text if text.strip() else ""
