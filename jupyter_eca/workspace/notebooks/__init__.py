"""The notebooks of the workspace: the answers to the port `Notebooks` that need no browser page, and the format of
cells and lock files.

The idea is explained in `workspace/ports.py`, "The live notebook". Here `first_of.py` chooses who answers for a
notebook, `shared_document.py` and `file.py` answer, `run_cells.py` runs cells for both, and `cells.py` applies changes.

The modules must not know chats or clients. The answer of a browser page is in `fronts/eca`.
"""
