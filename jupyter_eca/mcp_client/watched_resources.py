"""Keeps the resources that chats have received, and notes which of them may have changed since then.

It must not read resources: `manager.py` does, and compares their digests.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import ImagePart

# The number of resources that are kept, for all chats together. The oldest are forgotten.
_MAX_RESOURCES: Final = 100


@dataclass
class _WatchedResource:
    digest: str
    """The digest of the content that the chat received."""
    suspected: bool = False
    """Whether the resource may have changed since then."""


@dataclass
class AttachedResources:
    """The resources that were attached to chats."""

    _resources: dict[tuple[str, str, str], _WatchedResource] = field(
        default_factory=dict[tuple[str, str, str], _WatchedResource]
    )
    """By chat, server and URI."""

    def remember(self, chat: str, server: str, uri: str, text: str, images: Iterable[ImagePart]) -> None:
        """Note the content of a resource that a chat receives now."""
        digest = hashlib.sha256("\0".join((text, *(image.base64 for image in images))).encode("utf-8", "replace"))
        before = self._resources.pop((chat, server, uri), None)
        # If it is suspected, this stays so: it may have changed after it was read.
        self._resources[chat, server, uri] = _WatchedResource(
            digest.hexdigest(), before is not None and before.suspected
        )
        for oldest in list(self._resources)[:-_MAX_RESOURCES]:
            del self._resources[oldest]

    def get_digest(self, chat: str, server: str, uri: str) -> str | None:
        """Return the digest of the content that the chat received; None when it received none."""
        resource = self._resources.get((chat, server, uri))
        return resource and resource.digest

    def suspect(self, server: str, uri: str | None = None) -> None:
        """Note that a resource may have changed; without a URI, each resource of the server."""
        for (_, its_server, its_uri), resource in self._resources.items():
            if its_server == server and uri in {None, its_uri}:
                resource.suspected = True

    def set_suspected(self, chat: str, server: str, uri: str, *, suspected: bool) -> None:
        """Note whether a resource may have changed since the chat received it."""
        if resource := self._resources.get((chat, server, uri)):
            resource.suspected = suspected

    def list_suspected(self, chat: str) -> list[tuple[str, str]]:
        """Return the server and the URI of each resource of a chat that may have changed."""
        return [
            (server, uri)
            for (its_chat, server, uri), resource in self._resources.items()
            if its_chat == chat and resource.suspected
        ]

    def list_subscriptions(self, server: str) -> list[str]:
        """Return the URIs of the resources of a server to subscribe to, each once."""
        return list(dict.fromkeys(uri for _, its_server, uri in self._resources if its_server == server))
