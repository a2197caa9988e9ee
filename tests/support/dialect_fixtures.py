"""The messages of tests/fixtures/dialects, each in the words of some revisions of ECA's protocol.

The folder of a file names the revisions that say the message so: `000+001` is both seeds. `ours` is the same message in
our words. A file with `same_as` names the file of the same revisions that has its words, where those revisions have no
words for the difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "fixtures" / "dialects"


def load_messages(revision: str = "") -> dict[str, dict[str, Any]]:
    """The messages of a revision, or of all, under names like `001/exit`."""
    files = {path: json.loads(path.read_text()) for path in _FOLDER.glob("*/*.json")}
    said = {(spoken, path.stem): file for path, file in files.items() for spoken in path.parent.name.split("+")}
    return {
        f"{spoken}/{name}": said[spoken, file["same_as"]] if "same_as" in file else file
        for (spoken, name), file in sorted(said.items())
        if revision in {"", spoken}
    }
