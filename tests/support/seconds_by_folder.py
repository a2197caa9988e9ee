"""How long the tests of each folder take: a table for tests/README.md, from the results that a run leaves.

make test RESULTS=/tmp/results
python -m tests.support.seconds_by_folder /tmp/results
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

# Folders that are too large to be one row.
CUT = {"apps", "e2e", "fronts", "plugins", "workspace"}


def seconds(results: Path) -> dict[str, list[float]]:
    """The times of all tests, by folder."""
    found: dict[str, list[float]] = defaultdict(list)
    for file in results.glob("*.xml"):
        for case in ET.parse(file).iter("testcase"):  # noqa: S314  # our own file
            folders = case.attrib["classname"].split(".")[1:-1]
            depth = 2 if folders[:1] and folders[0] in CUT else 1
            found["/".join(["tests", *folders[:depth]])].append(float(case.attrib["time"]))
    return found


def main() -> None:
    for folder, times in sorted(seconds(Path(sys.argv[1])).items()):
        print(f"| `{folder}` | {len(times):,} | {sum(times):.0f} |")


if __name__ == "__main__":
    main()
