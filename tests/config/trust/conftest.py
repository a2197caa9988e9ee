from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config.trust import TrustedFolders

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def trust(tmp_path: Path) -> TrustedFolders:
    """Nothing is trusted yet."""
    return TrustedFolders(tmp_path / "data" / "trust.json")
