"""Remembers which resources of MCP servers (texts and files that a server offers) chats have received, and notes which
of them may have changed since then.

It keeps digests, never contents. It must not read resources: `manager.py` does, and compares their digests.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import ImagePart

# The number of resources that are kept, for all chats together. The oldest are forgotten.
_MAX_RESOURCES: Final = 100


_Key: TypeAlias = tuple[str, str, str]
"""A chat, a server and a URI."""


@dataclass
class AttachedResources:
    """The resources that were attached to chats."""

    suspected: set[_Key] = field(default_factory=set[_Key])
    """The resources that may have changed since their chat received them."""
    _digests: dict[_Key, str] = field(default_factory=dict[_Key, str])
    """The digests of the contents that chats received."""

    def remember(self, chat: str, server: str, uri: str, text: str, images: Iterable[ImagePart]) -> None:
        """Note the content of a resource that a chat receives now."""
        digest = hashlib.sha256("\0".join((text, *(image.base64 for image in images))).encode("utf-8", "replace"))
        # A suspected resource stays suspected, because it may have changed after it was read. The entry is removed
        # first, so that it becomes the newest one.
        self._digests.pop((chat, server, uri), None)
        self._digests[chat, server, uri] = digest.hexdigest()
        for oldest in list(self._digests)[:-_MAX_RESOURCES]:
            del self._digests[oldest]
            self.suspected.discard(oldest)

    def get_digest(self, chat: str, server: str, uri: str) -> str | None:
        """Return the digest of the content that the chat received; None when it received none."""
        return self._digests.get((chat, server, uri))

    def mark_changed(self, server: str, uri: str | None = None) -> None:
        """Note that a resource may have changed; without a URI, each resource of the server."""
        self.suspected.update(key for key in self._digests if key[1] == server and uri in {None, key[2]})

    def set_suspected(self, chat: str, server: str, uri: str, *, suspected: bool) -> None:
        """Note whether a resource may have changed since the chat received it: it is `suspected`. A resource that the
        chat has not received is ignored."""
        if not suspected:
            self.suspected.discard((chat, server, uri))
        elif (chat, server, uri) in self._digests:
            self.suspected.add((chat, server, uri))

    def list_suspected(self, chat: str) -> list[tuple[str, str]]:
        """Return the server and the URI of each resource of a chat that may have changed."""
        return [key[1:] for key in self._digests if key[0] == chat and key in self.suspected]

    def list_subscriptions(self, server: str) -> list[str]:
        """Return the URIs of the resources of a server to subscribe to, each once."""
        return list(dict.fromkeys(uri for _, its_server, uri in self._digests if its_server == server))
