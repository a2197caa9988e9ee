"""Owns the notebooks of the workspace: the implementations of the port `Notebooks` that need no browser page, and the
formats of cells and lock files.

`workspace/ports.py` explains the idea under "The live notebook". `shared_document.py` and `file.py` implement the port,
and `notebook_router.py` chooses between them and the pages. `run_cells.py` runs cells for both, and `cells.py` applies
changes.

The modules must not know chats or clients. `fronts/eca` implements the port for browser pages.
"""
