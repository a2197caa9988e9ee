"""All context plugs together: what is offered while the user types, what a message mentions, and what the model is
given. It knows no kind of context; each is a module beside it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, get_args

from jupyter_eca.engine.model.texts import format_context
from jupyter_eca.engine.text.mentions import find_mentions, parse_live, split_mention
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.contexts.base import Context, Material, Surroundings
from jupyter_eca.plugins.contexts.reading.open_notebook import CachedNotebooks
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
from jupyter_eca.workspace.files.name_search import Fit, rate_fit
from jupyter_eca.workspace.files.read_threads import run_read

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
    """Return the plugs by kind. The one with the kind "" reads what no other plug does."""
    return {plug.kind: plug for plug in loader.find("contexts", "CONTEXT").values()}


async def list_offers(
    surroundings: Surroundings, query: str, added: Iterable[ChatContext] = (), *, live: bool = False
) -> list[ChatContext]:
    """Return what the query could mean, the best first, without what was added already. Parts of a live notebook are
    offered only to clients that know them (`live`): others can name them in the message."""
    found = await asyncio.gather(*(_query(plug, surroundings, query) for plug in plugs().values()))
    known = {_identity(context) for context in added}
    failed = live and (await surroundings.glances.notebook(surroundings)).ended_so
    every = [
        (_fit(surroundings, query, context), not (failed and isinstance(context, ErrorContext)), place, context)
        for contexts in found
        for place, context in enumerate(contexts)
        if live or not isinstance(context, LiveContext)
    ]
    ranked = sorted(every, key=lambda one: one[:3])
    once = {_identity(context): context for *_, context in ranked}
    return [context for identity, context in once.items() if identity not in known][:MAX_OFFERED]


async def find_mentioned_contexts(surroundings: Surroundings, message: str) -> list[ChatContext]:
    """Return what a message names with `@` or `#` and what exists, and what only a live notebook has."""
    surroundings = _read_once(surroundings)
    signed = set(find_mentions(message, "@"))
    found = await asyncio.gather(
        *(
            _resolve_mention(surroundings, mention, signed=mention in signed)
            for mention in find_mentions(message)[:_MAX_MENTIONS]
        )
    )
    return [context for context in found if context is not None]


async def materials(surroundings: Surroundings, contexts: Iterable[ChatContext]) -> list[Material]:
    """Return what the model is given, each thing once and in order: a cell may be named by its number and sent by its
    id too. For a context that cannot be read, the reason is given."""
    surroundings = _read_once(surroundings)
    once = {_identity(context): context for context in contexts if not _is_blank(context)}
    found = await asyncio.gather(*(_material(surroundings, context) for context in once.values()))
    return list(dict.fromkeys(found))


def as_model_input(
    found: Iterable[Material], meant: str = ""
) -> tuple[str, tuple[ImagePart, ...], tuple[DocumentPart, ...]]:
    """Return the materials as they stand in the model's prompt. `meant` is the text that a custom command stands
    for."""
    text = f"\n\n{meant}" if meant else ""
    found = list(found)
    text += "".join(format_context(material.label, material.text) for material in found if material.text)
    images = tuple(image for material in found for image in material.images)
    return text, images, tuple(document for material in found for document in material.documents)


def _read_once(surroundings: Surroundings) -> Surroundings:
    if surroundings.notebooks is None:
        return surroundings
    return replace(surroundings, notebooks=CachedNotebooks(surroundings.notebooks))


async def _query(plug: Context, surroundings: Surroundings, query: str) -> Sequence[ChatContext]:
    try:
        async with asyncio.timeout(_QUERY_S):
            return await plug.query(surroundings, query)
    except Exception:  # noqa: BLE001  # the boundary to plugs: the others have something to offer
        _log.exception("the context plug %s failed to offer anything", plug.kind)
    return ()


async def _material(surroundings: Surroundings, context: ChatContext) -> Material:
    label = _label(context)
    try:
        async with asyncio.timeout(_RESOLVE_S):
            return await _plug(context).resolve(surroundings, context)
    except ToolError as error:
        return Material(label, f"(not readable: {error})", readable=False)
    except TimeoutError:
        return Material(label, f"(not readable: it took more than {_RESOLVE_S:g} s)", readable=False)
    except Exception as error:  # noqa: BLE001  # the boundary to plugs: the prompt must not be lost
        _log.exception("the context %s cannot be read", label)
        return Material(label, f"(not readable: {error!r})", readable=False)


def _plug(context: ChatContext) -> Context:
    """Return the plug of a context. `OtherContext` of a type that we know has a wrong shape."""
    misshapen = isinstance(context, OtherContext) and context.type in _TYPES
    return plugs()[""] if misshapen else plugs().get(context.type, plugs()[""])


def _is_blank(context: ChatContext) -> bool:
    """Whether it points at nothing: Emacs sends its cursor also while it is in no file."""
    return isinstance(context, OtherContext) and context.wire() == {"type": "cursor"}


async def _resolve_mention(surroundings: Surroundings, mention: str, *, signed: bool) -> ChatContext | None:
    """Return what a mention means. A file may have a name that means something in a notebook; without such a thing the
    file is meant."""
    if mention.startswith(("http://", "https://")):
        return WebContext(url=mention)
    word = parse_live(mention) if signed else None
    if word is None:
        theirs = signed and mention in plugs().keys() - _TYPES
        return await _file(surroundings, mention) or (OtherContext(type=mention) if theirs else None)
    meant = LIVE[word.kind](word.name)
    if await _has(surroundings, meant):
        return meant
    return await _file(surroundings, mention) or meant


async def _has(surroundings: Surroundings, context: LiveContext) -> bool:
    if isinstance(context, VariableContext):
        return surroundings.kernel is not None
    return surroundings.notebooks is not None and bool(await surroundings.notebooks.list())


async def _file(surroundings: Surroundings, mention: str) -> ChatContext | None:
    path, start, end = split_mention(mention)
    there = await run_read(_there, surroundings, path)
    if there is None and "." in path:
        # people write a file's name without its folder; a file is meant when only one has that name
        same = [name for name in await surroundings.index.search_files(path, 2) if rate_fit(path, name) is Fit.EXACT]
        path, there = (same[0], "file") if len(same) == 1 else (path, None)
    if there == "directory":
        return DirectoryContext(path=path)
    lines = LinesRange(start=start, end=end) if start else None
    return FileContext(path=path, lines_range=lines) if there == "file" else None


def _there(surroundings: Surroundings, path: str) -> str | None:
    with suppress(ToolError, OSError, ValueError):
        real = surroundings.files.resolve(path)
        return "directory" if real.is_dir() else "file" if real.is_file() else None
    return None


def _identity(context: ChatContext) -> tuple[object, ...]:
    """Return what makes two contexts the same; a cursor is identified by its position, not by the lines around it."""
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


def _fit(surroundings: Surroundings, query: str, context: ChatContext) -> int:
    """Rate how well an offer fits. A fit of a kind's own lies between a common beginning and common letters."""
    name = _label(context)
    if isinstance(context, VariableContext) and (found := rate_fit(query, context.name)) is not None:
        return found
    for root in surroundings.files.roots:
        name = name.removeprefix(f"{root}{os.sep}")
    found = rate_fit(query, name)
    return Fit.WORD if found is None else found
