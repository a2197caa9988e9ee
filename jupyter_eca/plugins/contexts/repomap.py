"""Owns the context `repoMap`: the names of all files of the workspace. Old clients send it with every prompt. The
neighbour `directory` owns the context that is one folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.protocol.context import RepoMapContext
from jupyter_eca.workspace.reading.file_tree import draw_tree

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings


class RepoMapPlug:
    """The plug: `query` offers `repoMap`, and `resolve` draws the tree of files. The class implements `base.Context`,
    whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "repoMap"

    async def query(self, surroundings: Surroundings, query: str) -> list[RepoMapContext]:
        """Offer the context if the query is the beginning of `repoMap`."""
        return [RepoMapContext()] if self.kind.lower().startswith(query.strip().lower()) else []

    async def resolve(self, surroundings: Surroundings, context: RepoMapContext) -> Material:
        """Return a tree for each folder of the workspace."""
        maps = [
            f"{root}\n{draw_tree(await surroundings.index.list_inside(root.resolve()))}"
            for root in surroundings.files.roots
        ]
        return Material(self.kind, "\n\n".join(maps))


CONTEXT = RepoMapPlug()
