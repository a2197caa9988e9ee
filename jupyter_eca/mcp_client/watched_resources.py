"""The resources that chats were given, and which of them may have changed since. It reads none: `manager` does."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import ImagePart

# The newest that are followed, of all chats together.
_MOST: Final = 100


@dataclass
class _One:
    digest: str
    suspected: bool = False


@dataclass
class AttachedResources:
    _all: dict[tuple[str, str, str], _One] = field(default_factory=dict[tuple[str, str, str], _One])

    def remember(self, chat: str, server: str, uri: str, text: str, images: Iterable[ImagePart]) -> None:
        """Record what a chat was given."""
        digest = hashlib.sha256("\0".join((text, *(image.base64 for image in images))).encode("utf-8", "replace"))
        before = self._all.pop((chat, server, uri), None)
        # One that was suspected meanwhile stays so: it may have changed after it was read.
        self._all[chat, server, uri] = _One(digest.hexdigest(), before is not None and before.suspected)
        for oldest in list(self._all)[:-_MOST]:
            del self._all[oldest]

    def digest(self, chat: str, server: str, uri: str) -> str | None:
        one = self._all.get((chat, server, uri))
        return one and one.digest

    def suspect(self, server: str, uri: str | None = None) -> None:
        """Suspect one resource, or all of a server."""
        for (_, of, its), one in self._all.items():
            if of == server and uri in {None, its}:
                one.suspected = True

    def doubt(self, chat: str, server: str, uri: str, *, suspected: bool) -> None:
        if one := self._all.get((chat, server, uri)):
            one.suspected = suspected

    def list_suspected(self, chat: str) -> list[tuple[str, str]]:
        """Return server and address of each suspected resource."""
        return [(server, uri) for (of, server, uri), one in self._all.items() if of == chat and one.suspected]

    def list_followed(self, server: str) -> list[str]:
        return list(dict.fromkeys(uri for _, of, uri in self._all if of == server))
