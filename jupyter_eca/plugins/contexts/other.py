"""The context that no other plug knows: one of a newer client, or one whose fields do not fit its type. The model gets
its fields, so that nothing is lost silently.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import OtherContext


class OtherPlug:
    """Offers no context, and writes the fields of a context as JSON. The class implements `base.Context`, whose
    argument `surroundings` has the sources that are read."""

    # A plug takes the contexts of one type. No type is empty, so this text stands for all types without a plug.
    kind = ""

    async def query(self, surroundings: Surroundings, query: str) -> list[OtherContext]:
        """Offer nothing."""
        return []

    async def resolve(self, surroundings: Surroundings, context: OtherContext) -> Material:
        """Return the fields of the context as JSON."""
        fields = {name: value for name, value in context.as_json_object().items() if name != "type"}
        return Material(context.type or "context", truncate(json.dumps(fields, ensure_ascii=False, indent=1)))


CONTEXT = OtherPlug()
