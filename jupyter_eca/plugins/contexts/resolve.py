"""Uses all context plugs: it lists the contexts to offer while the user types, finds those that a message mentions, and
reads those that the model gets. This module must not read a context itself: each kind is a module beside it.
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
from jupyter_eca.plugins.contexts.base import Context, Material, Surroundings, check_context
from jupyter_eca.plugins.contexts.reading import place
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
    RepoMapContext,
    SelectionContext,
    TableContext,
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

# The types of contexts that the protocol knows.
TYPES: Final = {model.model_fields["type"].default for model in get_args(get_args(ChatContext)[0])}

# The contexts of a live notebook, by the word that names them in a message. Each function makes the context from the
# name behind that word: `3` in `@cell:3`.
LIVE: Final[Mapping[str, Callable[[str], LiveContext]]] = {
    "cell": lambda name: CellContext(cell=name),
    "output": lambda name: OutputContext(cell=name),
    "notebook": lambda name: NotebookContext(path=name),
    "selection": lambda _: SelectionContext(),
    "error": lambda _: ErrorContext(),
    "var": lambda name: VariableContext(name=name),
    "table": lambda name: TableContext(name=name),
}

# How many contexts are offered, at most. Nobody reads more than a screen while typing.
MAX_OFFERED: Final = 50

# The seconds that a plug may take to offer contexts. The first time, most of them are for the walk through the folders.
_QUERY_SECONDS: Final = FIRST_WAIT + 0.5

# The seconds that a plug may take to read one context.
_RESOLVE_SECONDS: Final = 30.0

# The seconds to find out where the cell is in which the user asks. The answer of a page comes within hundredths of a
# second. The question of the user must not wait long for a page that does not answer.
_PLACE_SECONDS: Final = 3.0

# How many mentions of a message are looked up, at most. For each, the disk is read, and a pasted log may have many `@`.
_MAX_MENTIONS: Final = 100


@cache
def find_plugs() -> Mapping[str, Context]:
    """Return the plugs by kind. The plug with the kind "" reads the contexts that no other plug knows."""
    return {plug.kind: plug for plug in loader.find("contexts", "CONTEXT", check_context).values()}


async def list_offers(
    surroundings: Surroundings, query: str, added: Iterable[ChatContext] = (), *, live: bool = False
) -> list[ChatContext]:
    """Return the contexts that a query could mean, the best first, without those that are `added` already. Contexts of
    a live notebook are only offered to clients that know them (`live`). In other clients the user can still write
    them."""
    found = await asyncio.gather(*(_query_plug(plug, surroundings, query) for plug in find_plugs().values()))
    known = {_make_identity(context) for context in added}
    failed = live and (await surroundings.recent_looks.read_notebooks(surroundings)).ended_with_error
    # Sorted by the fit, then an error that has just happened comes first, then, where a word is typed, the user's
    # variables, and the list of all files last, then in the order of the plug.
    rated = [
        (
            _rate_fit(surroundings, query, context),
            not (failed and isinstance(context, ErrorContext)),
            not (query and isinstance(context, VariableContext | TableContext)),
            isinstance(context, RepoMapContext),
            place,
            context,
        )
        for contexts in found
        for place, context in enumerate(contexts)
        if live or not isinstance(context, LiveContext)
    ]
    ranked = sorted(rated, key=lambda offer: offer[:5])
    unique = {_make_identity(context): context for *_, context in ranked}
    return [context for identity, context in unique.items() if identity not in known][:MAX_OFFERED]


async def find_mentioned_contexts(
    surroundings: Surroundings, message: str, sent: Sequence[ChatContext] = ()
) -> list[ChatContext]:
    """Return the contexts that a message names with `@` or `#`, if they exist or belong to a live notebook. A mention
    of one of the contexts that were sent with the message means that one: the number of a cell may mean another cell by
    now, and the name of a file may be in two folders."""
    surroundings = _cache_notebooks(surroundings)
    at_mentions = set(find_mentions(message, "@"))
    mentions = [
        mention for mention in find_mentions(message) if not any(_is_named(context, mention) for context in sent)
    ]
    found = await asyncio.gather(
        *(
            _resolve_mention(surroundings, mention, has_at_sign=mention in at_mentions)
            for mention in mentions[:_MAX_MENTIONS]
        )
    )
    return [context for context in found if context is not None]


def list_named(contexts: Iterable[ChatContext], message: str) -> tuple[ChatContext, ...]:
    """Return the contexts that a message names with `@`. The page chooses the names in `mentions/mentions.ts`."""
    mentions = find_mentions(message, "@")
    return tuple(context for context in contexts if any(_is_named(context, mention) for mention in mentions))


async def read_materials(surroundings: Surroundings, contexts: Iterable[ChatContext]) -> list[Material]:
    """Read contexts, each once and in order: the message may name a cell by its number while the client sends it by its
    id. If a context cannot be read, its text is the reason."""
    surroundings = _cache_notebooks(surroundings)
    unique = {_make_identity(context): context for context in contexts if not _is_blank(context)}
    if any(isinstance(context, ErrorContext) for context in unique.values()):
        surroundings = replace(surroundings, shows_error=True)
    found = await asyncio.gather(*(_read_material(surroundings, context) for context in unique.values()))
    return list(dict.fromkeys(found))


async def read_asking_place(
    surroundings: Surroundings, cell: str, contexts: Iterable[ChatContext] = ()
) -> Material | None:
    """Return where the cell is in which the user asks, and what ran before it; None if that cannot be found out soon.
    `contexts` are those of the same message."""
    shows_error = any(isinstance(context, ErrorContext) for context in contexts)
    try:
        async with asyncio.timeout(_PLACE_SECONDS):
            return await place.read_asking_place(replace(surroundings, shows_error=shows_error), cell)
    except (ToolError, TimeoutError):
        return None
    except Exception:  # noqa: BLE001  # the boundary to plugs: the question can be answered without its place
        _log.exception("the place of the cell that asks cannot be read")
        return None


def as_model_input(
    found: Iterable[Material], model_message: str = ""
) -> tuple[str, tuple[ImagePart, ...], tuple[DocumentPart, ...]]:
    """Return what the materials add to the model's prompt: the text, the images and the documents.

    `model_message` is the message that the model gets instead of a command such as `/init`, "" for none. The text
    begins with it.
    """
    text = f"\n\n{model_message}" if model_message else ""
    found = list(found)
    text += "".join(
        format_context(material.label, material.text) if material.label else f"\n\n{material.text}"
        for material in found
        if material.text
    )
    images = tuple(image for material in found for image in material.images)
    return text, images, tuple(document for material in found for document in material.documents)


def _cache_notebooks(surroundings: Surroundings) -> Surroundings:
    """Return the surroundings for one message, in which each notebook is read at most once."""
    if surroundings.notebooks is None:
        return surroundings
    return replace(surroundings, notebooks=CachedNotebooks(surroundings.notebooks))


async def _query_plug(plug: Context, surroundings: Surroundings, query: str) -> Sequence[ChatContext]:
    """Return what a plug offers; nothing if it fails or takes too long."""
    try:
        async with asyncio.timeout(_QUERY_SECONDS):
            return await plug.query(surroundings, query)
    except Exception:  # noqa: BLE001  # the boundary to plugs: the other plugs still offer contexts
        _log.exception("the context plug %s failed to offer anything", plug.kind)
    return ()


async def _read_material(surroundings: Surroundings, context: ChatContext) -> Material:
    """Read a context with its plug. If it cannot be read, the text of the material is the reason."""
    label = _make_label(context)
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            return await _find_plug(context).resolve(surroundings, context)
    except ToolError as error:
        return Material(label, f"(not readable: {error})", readable=False)
    except TimeoutError:
        return Material(label, f"(not readable: it took more than {_RESOLVE_SECONDS:g} s)", readable=False)
    except Exception as error:  # noqa: BLE001  # the boundary to plugs: the prompt must not be lost
        _log.exception("the context %s cannot be read", label)
        return Material(label, f"(not readable: {error!r})", readable=False)


def _find_plug(context: ChatContext) -> Context:
    """Return the plug of a context. An `OtherContext` of a known type has fields that the plug of this type cannot
    read, so the plug with the kind "" reads it."""
    is_invalid = isinstance(context, OtherContext) and context.type in TYPES
    return find_plugs()[""] if is_invalid else find_plugs().get(context.type, find_plugs()[""])


def _is_blank(context: ChatContext) -> bool:
    """Return whether a context has no content: Emacs sends its cursor even if it is in no file."""
    return isinstance(context, OtherContext) and context.as_json_object() == {"type": "cursor"}


async def _resolve_mention(surroundings: Surroundings, mention: str, *, has_at_sign: bool) -> ChatContext | None:
    """Return the context of a mention, None for none. A word such as `cell` means a part of the notebook. If there is
    no notebook, it means a file with this name. `has_at_sign` is whether the mention begins with `@`: after `#`, each
    word means a file or a folder."""
    if mention.startswith(("http://", "https://")):
        return WebContext(url=mention)
    word = parse_live(mention) if has_at_sign else None
    if word is None:
        is_plug_kind = has_at_sign and mention in find_plugs().keys() - TYPES
        return await _find_file(surroundings, mention) or (OtherContext(type=mention) if is_plug_kind else None)
    live_context = LIVE[word.kind](word.name)
    if await _can_exist(surroundings, live_context):
        return live_context
    return await _find_file(surroundings, mention) or live_context


async def _can_exist(surroundings: Surroundings, context: LiveContext) -> bool:
    """Return whether there is what a context needs: a kernel for a variable or a table, an open notebook for any other
    context."""
    if isinstance(context, VariableContext | TableContext):
        return surroundings.kernel is not None
    return surroundings.notebooks is not None and bool(await surroundings.notebooks.list())


async def _find_file(surroundings: Surroundings, mention: str) -> ChatContext | None:
    """Return the file, the lines of a file (`data.py:L3-L7`) or the folder that a mention names, None for none."""
    path, start, end = split_mention(mention)
    kind = await run_read(_find_kind, surroundings, path)
    if kind is None and "." in path:
        # Users write the name of a file without its folder. This is enough if only one file has that name.
        matches = [name for name in await surroundings.index.search_files(path, 2) if rate_fit(path, name) is Fit.EXACT]
        path, kind = (matches[0], "file") if len(matches) == 1 else (path, None)
    if kind == "directory":
        return DirectoryContext(path=path)
    lines = LinesRange(start=start, end=end) if start else None
    return FileContext(path=path, lines_range=lines) if kind == "file" else None


def _find_kind(surroundings: Surroundings, path: str) -> str | None:
    """Return "directory" or "file" for a path in the workspace, None for neither. Blocks."""
    with suppress(ToolError, OSError, ValueError):
        real = surroundings.files.resolve(path)
        return "directory" if real.is_dir() else "file" if real.is_file() else None
    return None


def _make_identity(context: ChatContext) -> tuple[object, ...]:
    """Return a key that is the same for two contexts that mean the same thing."""
    match context:
        case FileContext(path=path, lines_range=lines):
            return ("file", path, lines and (lines.start, lines.end))
        case McpResourceContext(server=server, uri=uri):
            return ("mcpResource", server, uri)
        case LiveContext():
            return (context.type, context.model_dump_json(exclude={"label", "description"}))
        case _:
            return (context.type, context.model_dump_json())


def _is_named(context: ChatContext, mention: str) -> bool:
    """Return whether a mention, which is without its sign, names a context: by its label, or by the end of its path."""
    match context:
        case FileContext(path=path) | DirectoryContext(path=path):
            named, start, end = split_mention(mention)
            lines = (start, end) if start else None
            sent = context.lines_range if isinstance(context, FileContext) else None
            same_lines = lines == (sent and (sent.start, sent.end))
            return same_lines and (path == named or path.replace("\\", "/").endswith(f"/{named}"))
        case WebContext(url=url):
            return mention == url
        case McpResourceContext(server=server, uri=uri):
            return mention == f"{server}:{uri}"
        case RepoMapContext():
            return mention == context.type
        case LiveContext(label=label):
            return label != "" and label in {mention, mention.removesuffix("'s")}
        case _:
            return False


def _make_label(context: ChatContext) -> str:
    """Return the name of a context for the model and for errors."""
    match context:
        case FileContext(path=path) | DirectoryContext(path=path) | CursorContext(path=path):
            return path
        case WebContext(url=url):
            return url
        case McpResourceContext(server=server, uri=uri):
            return f"{server}:{uri}"
        case CellContext(cell=name) | OutputContext(cell=name) | VariableContext(name=name) | TableContext(name=name):
            return context.label or f"{context.type} {name}"
        case LiveContext(label=label) if label:
            return label
        case _:
            return context.type


def _rate_fit(surroundings: Surroundings, query: str, context: ChatContext) -> int:
    """Return how well the name of an offer fits the query: a value of `Fit`, of which the lowest is the best. If a plug
    has found the offer for another reason than its name, that is `Fit.WORD`."""
    name = _make_label(context)
    if isinstance(context, VariableContext | TableContext) and (found := rate_fit(query, context.name)) is not None:
        return found
    for root in surroundings.files.roots:
        name = name.removeprefix(f"{root}{os.sep}")
    found = rate_fit(query, name)
    return Fit.WORD if found is None else found
