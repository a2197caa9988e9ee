"""Runs the command line program when Python is started with `python -m jupyter_eca`.

It must not do anything else: its neighbour `apps/cli` has the program, which is also installed as `jupyter-eca`.
"""

from __future__ import annotations

import sys

from jupyter_eca.apps.cli import main

sys.exit(main())
