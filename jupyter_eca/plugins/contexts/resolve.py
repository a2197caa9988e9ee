"""All plugs together: what is offered while somebody types, what a message points at, and what the model is given."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, get_args

from jupyter_eca.engine.model.texts import context_text
from jupyter_eca.engine.text.mentions import live, mentions, split
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.contexts.base import Context, Material, Surroundings
from jupyter_eca.plugins.contexts.reading.open_notebook import Once
from jupyter_eca.protocol.context import (
    CellContext,
    ChatContext,
    CursorContext,
    DirectoryContext,
    ErrorContext,
    FileContext,
    LinesRange,
    LiveContext,
    McpResourceContext,
    NotebookContext,
    OtherContext,
    OutputContext,
    SelectionContext,
    VariableContext,
    WebContext,
)
from jupyter_eca.workspace.files.index import FIRST_WAIT
from jupyter_eca.workspace.files.name_search import Fit, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jupyter_eca.engine.model.request import DocumentPart, ImagePart

_log = logging.getLogger(__name__)

# The types of the protocol.
_TYPES: Final = {model.model_fields["type"].default for model in get_args(get_args(ChatContext)[0])}

# By the word that names one in a message.
LIVE: Final[Mapping[str, Callable[[str], LiveContext]]] = {
    "cell": lambda name: CellContext(cell=name),
    "output": lambda name: OutputContext(cell=name),
    "notebook": lambda name: NotebookContext(path=name),
    "selection": lambda _: SelectionContext(),
    "error": lambda _: ErrorContext(),
    "var": lambda name: VariableContext(name=name),
}

# How many are offered: nobody reads more than a screen while typing.
MAX_OFFERED: Final = 50

# Seconds. Who types waits for no plug, but for the first look at the folders; who asks waits for none that hangs.
_QUERY_S: Final = FIRST_WAIT + 0.5
_RESOLVE_S: Final = 30.0

# A pasted log may be full of what looks like one; each costs a look at the disk.
_MAX_MENTIONS: Final = 100


@cache
def plugs() -> Mapping[str, Context]:
    """By kind. The one that is called "" reads what no other does."""
    return {plug.kind: plug for plug in loader.find("contexts", "CONTEXT").values()}


async def offered(
    around: Surroundings, query: str, added: Iterable[ChatContext] = (), *, live: bool = False
) -> list[ChatContext]:
    """What could be meant, the best first, without what was added already. What is in a live notebook is offered only
    to clients that know of such (`live`): others can name it in the message."""
    found = await asyncio.gather(*(_queried(plug, around, query) for plug in plugs().values()))
    known = {_identity(context) for context in added}
    failed = live and (await around.glances.notebook(around)).ended_so
    every = [
        (_fit(around, query, context), not (failed and isinstance(context, ErrorContext)), place, context)
        for contexts in found
        for place, context in enumerate(contexts)
        if live or not isinstance(context, LiveContext)
    ]
    ranked = sorted(every, key=lambda one: one[:3])
    once = {_identity(context): context for *_, context in ranked}
    return [context for identity, context in once.items() if identity not in known][:MAX_OFFERED]


async def mentioned(around: Surroundings, message: str) -> list[ChatContext]:
    """What a message names with `@` or `#` and is there, and what only a live notebook has."""
    around = _read_once(around)
    signed = set(mentions(message, "@"))
    found = await asyncio.gather(
        *(_named(around, mention, signed=mention in signed) for mention in mentions(message)[:_MAX_MENTIONS])
    )
    return [context for context in found if context is not None]


async def materials(around: Surroundings, contexts: Iterable[ChatContext]) -> list[Material]:
    """What the model is given, each once, in order: a cell may be named by its number, and be sent along by its id. One
    that cannot be read becomes the reason."""
    around = _read_once(around)
    once = {_identity(context): context for context in contexts if not _is_blank(context)}
    found = await asyncio.gather(*(_material(around, context) for context in once.values()))
    return list(dict.fromkeys(found))


def given(found: Iterable[Material], meant: str = "") -> tuple[str, tuple[ImagePart, ...], tuple[DocumentPart, ...]]:
    """Materials as they stand in the model's prompt. `meant` is what a command of the user's own stands for."""
    text = f"\n\n{meant}" if meant else ""
    found = list(found)
    text += "".join(context_text(material.label, material.text) for material in found if material.text)
    images = tuple(image for material in found for image in material.images)
    return text, images, tuple(document for material in found for document in material.documents)


def _read_once(around: Surroundings) -> Surroundings:
    return around if around.notebooks is None else replace(around, notebooks=Once(around.notebooks))


async def _queried(plug: Context, around: Surroundings, query: str) -> Sequence[ChatContext]:
    try:
        async with asyncio.timeout(_QUERY_S):
            return await plug.query(around, query)
    except Exception:  # noqa: BLE001  # the boundary to plugs: the others have something to offer
        _log.exception("the context plug %s failed to offer anything", plug.kind)
    return ()


async def _material(around: Surroundings, context: ChatContext) -> Material:
    label = _label(context)
    try:
        async with asyncio.timeout(_RESOLVE_S):
            return await _plug(context).resolve(around, context)
    except ToolError as error:
        return Material(label, f"(not readable: {error})", readable=False)
    except TimeoutError:
        return Material(label, f"(not readable: it took more than {_RESOLVE_S:g} s)", readable=False)
    except Exception as error:  # noqa: BLE001  # the boundary to plugs: the prompt must not be lost
        _log.exception("the context %s cannot be read", label)
        return Material(label, f"(not readable: {error!r})", readable=False)


def _plug(context: ChatContext) -> Context:
    """Of a type that we know, `OtherContext` says that it has a wrong shape."""
    misshapen = isinstance(context, OtherContext) and context.type in _TYPES
    return plugs()[""] if misshapen else plugs().get(context.type, plugs()[""])


def _is_blank(context: ChatContext) -> bool:
    """Emacs sends its cursor also while it is in no file."""
    return isinstance(context, OtherContext) and context.wire() == {"type": "cursor"}


async def _named(around: Surroundings, mention: str, *, signed: bool) -> ChatContext | None:
    """A file may have a name that means something in a notebook; where there is none, that file is meant."""
    if mention.startswith(("http://", "https://")):
        return WebContext(url=mention)
    word = live(mention) if signed else None
    if word is None:
        theirs = signed and mention in plugs().keys() - _TYPES
        return await _file(around, mention) or (OtherContext(type=mention) if theirs else None)
    meant = LIVE[word.kind](word.name)
    if await _has(around, meant):
        return meant
    return await _file(around, mention) or meant


async def _has(around: Surroundings, context: LiveContext) -> bool:
    if isinstance(context, VariableContext):
        return around.kernel is not None
    return around.notebooks is not None and bool(await around.notebooks.list())


async def _file(around: Surroundings, mention: str) -> ChatContext | None:
    path, start, end = split(mention)
    there = await asyncio.to_thread(_there, around, path)
    if there is None and "." in path:
        # people write a file's name without its folder; a file is meant when only one has that name
        same = [name for name in await around.index.files(path, 2) if fit(path, name) is Fit.EXACT]
        path, there = (same[0], "file") if len(same) == 1 else (path, None)
    if there == "directory":
        return DirectoryContext(path=path)
    lines = LinesRange(start=start, end=end) if start else None
    return FileContext(path=path, lines_range=lines) if there == "file" else None


def _there(around: Surroundings, path: str) -> str | None:
    with suppress(ToolError, OSError, ValueError):
        real = around.files.resolve(path)
        return "directory" if real.is_dir() else "file" if real.is_file() else None
    return None


def _identity(context: ChatContext) -> tuple[object, ...]:
    """What makes two the same; a cursor is where it is, whatever lines are around it."""
    match context:
        case FileContext(path=path, lines_range=lines):
            return ("file", path, lines and (lines.start, lines.end))
        case McpResourceContext(server=server, uri=uri):
            return ("mcpResource", server, uri)
        case LiveContext():
            return (context.type, context.model_dump_json(exclude={"label", "description"}))
        case _:
            return (context.type, context.model_dump_json())


def _label(context: ChatContext) -> str:
    match context:
        case FileContext(path=path) | DirectoryContext(path=path) | CursorContext(path=path):
            return path
        case WebContext(url=url):
            return url
        case McpResourceContext(server=server, uri=uri):
            return f"{server}:{uri}"
        case CellContext(cell=name) | OutputContext(cell=name) | VariableContext(name=name):
            return context.label or f"{context.type} {name}"
        case LiveContext(label=label) if label:
            return label
        case _:
            return context.type


def _fit(around: Surroundings, query: str, context: ChatContext) -> int:
    """What fits in a way of its own is between what begins so and what only has the letters."""
    name = _label(context)
    if isinstance(context, VariableContext) and (found := fit(query, context.name)) is not None:
        return found
    for root in around.files.roots:
        name = name.removeprefix(f"{root}{os.sep}")
    found = fit(query, name)
    return Fit.WORD if found is None else found
