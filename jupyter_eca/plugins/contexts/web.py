"""The context of a public web page, as readable text. It must not open a connection: `workspace/reading/web_fetch.py`
does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jupyter_eca.config.policy.document import Feature
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.protocol.context import WebContext
from jupyter_eca.workspace.reading import image
from jupyter_eca.workspace.reading.html_text import convert_html
from jupyter_eca.workspace.reading.text import decode, truncate
from jupyter_eca.workspace.reading.web_fetch import PUBLIC, NetworkAccess, WebPage, fetch

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings


@dataclass(frozen=True, slots=True)
class WebPlug:
    """The plug: `query` offers a URL that is typed, and `resolve` fetches the page. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    reach: NetworkAccess = PUBLIC
    """Decides which addresses may be requested."""
    kind: str = "web"
    """The `type` of its contexts in the messages of the protocol."""

    async def query(self, surroundings: Surroundings, query: str) -> list[WebContext]:
        """Offer the typed text itself if it is a URL. Ten characters or less cannot be the URL of a public page."""
        return [WebContext(url=query)] if query.startswith(("http://", "https://")) and len(query) > 10 else []

    async def resolve(self, surroundings: Surroundings, context: WebContext) -> Material:
        """Fetch the page. Raises: ToolError when it cannot be fetched, or the administrator's policy forbids it."""
        policy = surroundings.policy
        if refusal := policy.find_feature_refusal(Feature.WEB_PAGES):
            raise ToolError(refusal)
        page = await fetch(context.url, replace(self.reach, refuse_url=policy.find_url_refusal))
        return await asyncio.to_thread(_make_material, context.url, page)


CONTEXT = WebPlug()


def _make_material(label: str, page: WebPage) -> Material:
    """Return a page for the model: an image, or its readable text. Raises: ToolError for any other content."""
    if page.media_type.startswith("image/") and page.media_type != "image/svg+xml":
        return Material(label, images=(image.load_bytes(page.data, label),))
    text = decode(page.data)
    if text is None:
        raise ToolError(f"{label} is {page.media_type or 'something'} and no text.")
    if page.media_type in {"text/html", "application/xhtml+xml"}:
        text = convert_html(text)
    moved = f"[from {page.url}]\n" if page.url != label else ""
    cut = "" if page.is_complete else f"\n[only the first {len(page.data)} bytes were read]"
    return Material(label, moved + truncate(text) + cut)
