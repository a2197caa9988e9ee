"""The program that finds the lines of a file which match a regular expression. `kept_outputs.py` starts it in a process
of its own, because a search with Python's `re` cannot be stopped in any other way, and some expressions take for ever.

It gets one argument, a JSON object with `file`, `pattern`, `maxLines` and `maxChars`. It prints one JSON object: the
`lines`, each as the byte at which it begins and its text, how many more match (`leftOut`) and the size of the file
(`total`); or the `error` in the expression. It must not import any module of ours.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any


def match_lines(file: str, pattern: str, max_lines: int, max_chars: int) -> dict[str, Any]:
    """Return what the program prints. It has at most `max_lines` lines, and of each the first `max_chars` characters.
    Raises: OSError when the file cannot be read."""
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return {"error": str(error)}
    lines: list[tuple[int, str]] = []
    offset, left_out = 0, 0
    with Path(file).open("rb") as opened:
        for raw in opened:
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if expression.search(line):
                if len(lines) < max_lines:
                    lines.append((offset, line[:max_chars]))
                else:
                    left_out += 1
            offset += len(raw)
    return {"lines": lines, "leftOut": left_out, "total": offset}


def main() -> None:
    """Run the program."""
    wanted = json.loads(sys.argv[1])
    found = match_lines(wanted["file"], wanted["pattern"], wanted["maxLines"], wanted["maxChars"])
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
