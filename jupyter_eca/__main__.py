"""`python -m jupyter_eca` is `jupyter-eca`."""

from __future__ import annotations

import sys

from jupyter_eca.apps.cli import main

sys.exit(main())
