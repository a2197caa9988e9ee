"""How long a test waits for what must happen."""

from __future__ import annotations

import os
from typing import Final

# Seconds until it is a failure that an event has not come. A wait ends with its event, so that it costs nothing to be
# patient with a busy machine; whoever looks for what hangs sets the variable to less.
PATIENCE: Final = float(os.environ.get("TEST_PATIENCE", "30"))
