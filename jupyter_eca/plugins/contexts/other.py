"""What no plug knows: a newer client's context, or one of a shape that does not fit its type. The model is told of it
with what it says, so that nothing is dropped without a word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import OtherContext


class OtherPlug:
    # no type on the wire is empty
    kind = ""

    async def query(self, surroundings: Surroundings, query: str) -> list[OtherContext]:  # noqa: ARG002
        return []

    async def resolve(self, surroundings: Surroundings, context: OtherContext) -> Material:  # noqa: ARG002
        said = {name: value for name, value in context.wire().items() if name != "type"}
        return Material(context.type or "context", truncate(json.dumps(said, ensure_ascii=False, indent=1)))


CONTEXT = OtherPlug()
