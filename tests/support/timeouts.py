"""How long a test waits for what must happen."""

from __future__ import annotations

import os
from typing import Final

# Seconds until it is a failure that an event has not come. The variable gives a machine with much else to do more.
PATIENCE: Final = float(os.environ.get("TEST_PATIENCE", "5"))
