"""Owns changes to the Markdown files that users write for the assistant, such as agents: it creates, changes and
removes such files. A change of the front matter keeps comments and all other keys.

It must not know what a key means: its callers do. `config.front_matter` parses the files, and `config.folders`
finds them. All functions block, and their errors are `ConfigError`s with a sentence for the user.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.config.editing import WRITING
from jupyter_eca.config.folders import find_allowed_folders, is_inside
from jupyter_eca.config.front_matter import decode_text, parse_front_matter, split_into_parts
from jupyter_eca.config.mcp_servers import replace_text
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

_EXISTS: Final = "{path} exists already. Choose another name."
_OUTSIDE: Final = "{path} leads out of the workspace. Nothing was written."
_CHANGED: Final = "{path} has changed since it was shown. Look at it again."
_TOO_HARD: Final = "{path} cannot be changed from here: {reason}. Change it in an editor."
_NO_ACCESS: Final = "{path} cannot be changed: {reason}."
_NOT_KEPT: Final = "its front matter is written in another way"


def read_file(path: Path, roots: Sequence[Path]) -> tuple[str, str]:
    """Return the text of a file and its digest, which identifies this content. `roots` are the folders of the
    workspace. Raises: OSError, ValueError with a reason for the user."""
    data = read_regular(path, MAX_TEXT_BYTES, find_allowed_folders(path, roots))
    return decode_text(data), hashlib.sha256(data).hexdigest()


def create_file(path: Path, values: Mapping[str, Any], body: str, roots: Sequence[Path]) -> None:
    """Create a file with these keys and values in its front matter, and the text `body` below it. A file that exists is
    never overwritten. `roots` are the folders of the workspace.

    Raises: ConfigError.
    """
    _check_place(path, roots)
    text = change_text("", values, body)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as opened:
            opened.write(text)
    except FileExistsError:
        raise ConfigError(_EXISTS.format(path=path)) from None
    except OSError as error:
        raise ConfigError(_NO_ACCESS.format(path=path, reason=error.strerror)) from error


def change_file(path: Path, digest: str, values: Mapping[str, Any], body: str, roots: Sequence[Path]) -> None:
    """Set keys of the front matter to new `values`, and replace the text below it by `body`. None removes a key.
    `digest` is that of the content that the user has seen. `roots` are the folders of the workspace.

    Raises: ConfigError, also when the content is another one now.
    """
    _check_place(path, roots)
    with WRITING:  # no other thread changes a file between the reading and the writing here
        try:
            text = _read_seen(path, digest, roots)
            changed = change_text(text.replace("\r\n", "\n"), values, body)
            replace_text(path, changed.replace("\n", "\r\n") if "\r\n" in text else changed)
        except ValueError as error:
            raise ConfigError(_TOO_HARD.format(path=path, reason=error)) from error
        except OSError as error:
            raise ConfigError(_NO_ACCESS.format(path=path, reason=error.strerror)) from error


def replace_file(path: Path, digest: str, text: str, roots: Sequence[Path]) -> None:
    """Replace the whole text of a file. `digest` is that of the content that the user has seen.

    Raises: ConfigError, also when the content is another one now.
    """
    _check_place(path, roots)
    with WRITING:
        try:
            _read_seen(path, digest, roots)
            replace_text(path, text)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(_NO_ACCESS.format(path=path, reason=reason)) from error


def remove_file(path: Path, digest: str, roots: Sequence[Path]) -> None:
    """Remove a file. `digest` is that of the content that the user has seen.

    Raises: ConfigError, also when the content is another one now.
    """
    _check_place(path, roots)
    with WRITING:
        try:
            _read_seen(path, digest, roots)
            path.unlink()
        except ValueError as error:
            raise ConfigError(_TOO_HARD.format(path=path, reason=error)) from error
        except OSError as error:
            raise ConfigError(_NO_ACCESS.format(path=path, reason=error.strerror)) from error


def _check_place(path: Path, roots: Sequence[Path]) -> None:
    """Raise ConfigError if a path in the workspace leads out of it, through a link. The user's own folder may hold
    links to any place."""
    if find_allowed_folders(path, roots) is not None and not is_inside(path, roots):
        raise ConfigError(_OUTSIDE.format(path=path))


def _read_seen(path: Path, digest: str, roots: Sequence[Path]) -> str:
    """Return the text of a file. `digest` is that of the content that the user has seen. Raises: ConfigError when the
    file has another content now; OSError, ValueError."""
    text, found = read_file(path, roots)
    if found != digest:
        raise ConfigError(_CHANGED.format(path=path))
    return text


def change_text(text: str, values: Mapping[str, Any], body: str) -> str:
    """Return a text with other values of these keys in its front matter, and another text below it. None removes a key.

    Raises: ValueError when the front matter is written in a way in which nothing can be replaced.
    """
    old_values, old_body = parse_front_matter(text)
    before, front, between, below = split_into_parts(text)
    for key, value in values.items():
        if old_values.get(key) != value:
            front = _change_key(front, key, value)
    body = body.replace("\r\n", "\n").strip()
    # `chr(10)` is a line break: Python 3.11 allows no backslash in the braces of an f-string.
    changed = f"{before}{front}{between}{below if body == old_body else f'{chr(10)}{body}{chr(10)}'}"
    expected = {key: value for key, value in {**old_values, **values}.items() if value is not None}
    if parse_front_matter(changed) != (expected, body):
        raise ValueError(_NOT_KEPT)
    return changed


def _change_key(front: str, key: str, value: Any) -> str:
    """Return front matter with another value of one key. A new key comes last. Comments stay."""
    import yaml  # imported here because it takes 15 ms, and many users have no such file

    written = yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=float("inf"))
    line = "" if value is None else f"{key}: {written.removesuffix('...' + chr(10))}"
    compose = cast("Callable[..., Any]", yaml.compose)  # pyright: ignore[reportUnknownMemberType]  # untyped
    node = compose(front, Loader=yaml.SafeLoader)
    entries: Iterable[Any] = node.value if isinstance(node, yaml.MappingNode) else ()
    for name, content in entries:
        if name.value == key:
            start, end = name.start_mark.index, content.end_mark.index
            # The mark of a list in several lines is at the next key, and comments may come before that.
            lines = front[start:end].split("\n")
            while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
                lines.pop()
            end = start + len("\n".join(lines))
            following = front[end:]
            return front[:start] + (line.removesuffix("\n") + following if line else following.partition("\n")[2])
    return f"{front}{'' if front.endswith(chr(10)) or not front else chr(10)}{line}"
