"""The tables and the picture of `figures.json`. Nothing is in them that is not in that file."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from tests.bench import plots
from tests.bench.figure import number
from tests.bench.marked_pages import IMAGES, PERFORMANCE, README, write_marked
from tests.bench.peers.peers import LAB, OURS, PEERS
from tests.bench.peers.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.bench.peers.rows import Column

FILE: Final = Path(__file__).with_name("figures.json")
PICTURE: Final = IMAGES / "beside-others.png"
COMMAND: Final = "make bench-peers"

# The values of each column, one a round; or `{"cannot": REASON}`.
Cell = dict[str, Any]
# By row and peer.
Figures = dict[str, dict[str, Cell]]


def save(rows: Figures) -> None:
    """Keep these cells. Rows and peers that were not measured now keep theirs."""
    known = load()
    for row, cells in rows.items():
        known["rows"].setdefault(row, {}).update(cells)
    FILE.write_text(json.dumps(known, indent=1) + "\n")


def save_run(versions: Mapping[str, Mapping[str, str]], run: str) -> None:
    """Keep what was measured, and when and on which machine."""
    known = load()
    known["versions"] |= {
        peer.name: _version(peer.name, versions[peer.name]) for peer in PEERS if peer.name in versions
    }
    FILE.write_text(json.dumps(known | {"run": run}, indent=1) + "\n")


def load() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {"run": "", "versions": {}, "rows": {}}


def _version(peer: str, versions: Mapping[str, str]) -> str:
    if peer == LAB.name:
        return versions["jupyterlab"]
    if peer == OURS.name:
        from jupyter_eca import __version__

        return __version__
    return versions[peer]


def columns() -> Iterator[tuple[str, Column]]:
    for row in ROWS:
        for column in row.columns:
            yield row.name, column


def _median(figures: Figures, row: str, peer: str, column: str) -> float | None:
    values = figures.get(row, {}).get(peer, {}).get(column)
    return None if values is None else median(values)


def format_table(figures: Figures) -> str:
    names = [peer.name for peer in PEERS]
    lines = [f"| | unit | {' | '.join(names)} |", f"|---|---|{'--:|' * len(names)}"]
    for row, column in columns():
        middles = {name: _median(figures, row, name, column.name) for name in names}
        compared = [middle for name, middle in middles.items() if middle is not None and name != LAB.name]
        cells = [
            _format(middle, bool(compared) and middle == min(compared), _describe_absence(figures, row, name))
            for name, middle in middles.items()
        ]
        lines.append(f"| {column.title} | {column.unit} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _describe_absence(figures: Figures, row: str, peer: str) -> str:
    return "cannot" if peer in figures.get(row, {}) else "not measured"


def _format(middle: float | None, best: bool, absence: str) -> str:
    if middle is None:
        return absence
    return f"**{number(middle)}**" if best else number(middle)


def format_reasons(figures: Figures) -> str:
    """Return why there are no figures: one line for each reason, with the rows and the peers that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in ROWS:
        for peer in PEERS:
            if (reason := figures.get(row.name, {}).get(peer.name, {}).get("cannot")) is not None:
                found.setdefault((peer.name, reason), []).append(row.name)
    lines = ["| cannot | rows | why |", "|---|---|---|"]
    lines += [
        f"| {peer} | {', '.join(rows)} | {reason} |" for (peer, reason), rows in found.items() if peer != LAB.name
    ]
    return "\n".join(lines)


def format_source(known: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    return f"{known['run']} Versions: {versions}."


def format_headline(known: Mapping[str, Any]) -> str:
    """Return the paragraph of the README: some rows, ours beside the least and the most of those who can."""
    figures: Figures = known["rows"]
    parts: list[str] = []
    for row, column in columns():
        ours = _median(figures, row, OURS.name, column.name)
        others = [_median(figures, row, peer.name, column.name) for peer in PEERS if peer not in (OURS, LAB)]
        able = [middle for middle in others if middle is not None]
        if column.name in _HEADLINE and ours is not None and able:
            unit = "" if column.unit == column.name else f" {column.unit}"
            least, most = number(min(able)), number(max(able))
            parts.append(f"{column.title}: **{number(ours)}{unit}** ({least} to {most}{unit})")
    all_of = "[All figures](notebooks/docs/performance.md), also those in which it is slower, are on one page."
    intro = "Medians, and in brackets the least and the most of the others."
    return f"{intro} {'; '.join(parts)}. {all_of} {format_source(known)}"


_HEADLINE: Final = ("packages", "mib", "start", "memory", "first", "page_whole", "js_start")


def draw(figures: Figures, file: Path) -> None:
    """One small chart for each row of the table. Less is better in all."""
    plt = plots.load_pyplot()
    shown = list(columns())
    across = 3
    down = -(-len(shown) // across)
    names = [peer.name for peer in PEERS]
    picture, charts = plt.subplots(down, across, figsize=(13, 2.1 * down), layout="constrained")
    for chart in charts.flat[len(shown) :]:
        chart.set_axis_off()
    for place, (chart, (row, column)) in enumerate(zip(charts.flat, shown, strict=False)):
        middles = [_median(figures, row, name, column.name) for name in names]
        colours = ["#d9480f" if name == OURS.name else "#adb5bd" if name == LAB.name else "#4c6ef5" for name in names]
        chart.barh(names, [middle or 0 for middle in middles], color=colours)
        chart.set_title(f"{column.title.replace('`', '')} ({column.unit})", fontsize=9)
        chart.invert_yaxis()
        chart.tick_params(labelsize=7)
        chart.set_yticks(range(len(names)), names if place % across == 0 else [""] * len(names))
        chart.spines[["top", "right"]].set_visible(False)
        for at, (name, middle) in enumerate(zip(names, middles, strict=True)):
            text = f" {_describe_absence(figures, row, name) if middle is None else number(middle)}"
            chart.text(middle or 0, at, text, va="center", fontsize=7, color="#868e96" if middle is None else "black")
        chart.margins(x=0.2)
    picture.suptitle("Less is better. Orange: jupyter_eca", fontsize=10)
    plots.save(picture, file)


def write() -> None:
    known = load()
    figures: Figures = known["rows"]
    draw(figures, PICTURE)
    parts = [format_source(known), format_table(figures), format_reasons(figures)]
    write_marked(PERFORMANCE, "peers", "\n\n".join(parts))
    write_marked(README, "performance", format_headline(known))
