"""The folders in which a file of the workspace may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config.folders import find_allowed_folders

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_under_a_linked_folder_belongs_to_the_workspace_also_if_the_folders_can_be_read_only_once(
    tmp_path: Path,
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    assert find_allowed_folders(link / "rule.md", iter([link])) == (real.resolve(),)
