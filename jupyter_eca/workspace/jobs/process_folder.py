"""Owns the folder for the temporary files of this process. Only the user can enter it. It is deleted when the process
ends, and by the next start if the process is killed: the files may have outputs of commands and cells in them.

It must not know what the files are: each module that writes such files makes its own folder inside of this one, with
`tempfile`. `process_records.py` has the record by which the next start finds the folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from jupyter_eca.workspace.jobs.process_records import ProcessRecord

# The beginning of the name of the folder.
_PREFIX: Final = "jupyter-eca-"


def make_process_folder() -> Path:
    """Return the folder. The first call makes it. A later call makes it again if it is gone, because some systems
    delete old files in the folder for temporary files. Blocks. Raises: OSError."""
    folder = _choose_folder()
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        # A folder of another user must not be used.
        if hasattr(os, "getuid") and folder.lstat().st_uid != os.getuid():
            raise
    return folder


@cache
def _choose_folder() -> Path:
    """Return the path of the folder, which need not exist yet, and arrange that it is deleted when the process ends."""
    # If this process is killed, the next start finds the record and deletes the folder. `its temporary files` is part
    # of the warning that is logged if the record cannot be written: then nothing would delete them.
    record = ProcessRecord.open("its temporary files")
    # The record must name the folder before the folder is made. `mark` is the random text in the name of the record.
    # So no other user can guess the name of the folder, and make a folder with this name first.
    folder = Path(tempfile.gettempdir()).resolve() / f"{_PREFIX}{record.mark}"
    record.note_folder(folder)
    atexit.register(_delete, folder, record)
    return folder


def _delete(folder: Path, record: ProcessRecord) -> None:
    """Delete the folder, and its record."""
    shutil.rmtree(folder, ignore_errors=True)
    record.close()
