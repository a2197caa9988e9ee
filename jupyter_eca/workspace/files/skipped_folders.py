"""Lists the folders that are skipped when files are listed or searched. It must not know tools. Its neighbour
`listing.py` lists the files.
"""

from __future__ import annotations

# Folders of version control, virtual environments, packages and caches. They are skipped even if no .gitignore names
# them.
SKIPPED_FOLDERS = (".git", ".hg", ".svn", ".venv", ".tox", "node_modules", "__pycache__", ".ipynb_checkpoints")
