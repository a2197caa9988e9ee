"""Owns the notebooks of the workspace: the implementations of the interface `Notebooks` that need no browser page, and
the formats of cells and lock files.

`workspace/ports.py` has the interface, and explains the idea under "The live notebook". `shared_document.py` and
`file.py` implement it, and `notebook_router.py` chooses between them and the pages. `run_cells.py` runs cells for both,
and `cells.py` applies changes.

The modules must not know chats or clients. `fronts/eca` implements the interface for browser pages.
"""
