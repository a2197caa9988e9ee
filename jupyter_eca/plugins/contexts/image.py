"""The context of an image that the client sends, for example a pasted one. `file` has the images of the workspace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.workspace.reading import image

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import ImageContext


class ImagePlug:
    """The plug: it offers nothing, and `resolve` decodes the image that was sent. The class implements `base.Context`,
    whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "image"

    async def query(self, surroundings: Surroundings, query: str) -> list[ImageContext]:
        """Offer nothing: clients send images by themselves."""
        return []

    async def resolve(self, surroundings: Surroundings, context: ImageContext) -> Material:
        """Decode the image. Raises: ToolError when that is not possible."""
        part = await asyncio.to_thread(image.load_base64, context.base64, "the picture")
        return Material("picture", images=(part,))


CONTEXT = ImagePlug()
