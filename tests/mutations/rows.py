"""Owns the mutants of the two tables of the engine, which are data: mutmut changes functions only.

Of each row: it is missing, it leads to another status, or it lacks one of its moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.engine.tool_call import TOOL_CALLS
from jupyter_eca.engine.turn import TURNS
from tests.mutations.mutants import Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import StrEnum

    from jupyter_eca.engine.table import Table

TABLES: Final[dict[str, Table[Any, Any, Any]]] = {"turn": TURNS, "tool_call": TOOL_CALLS}
Row = tuple["StrEnum", tuple["StrEnum", ...]]


@dataclass(frozen=True)
class RowMutant(Mutant):
    """A table with another row."""

    pair: tuple[StrEnum, StrEnum]
    row: Row | None
    """What stands there; None for no row."""

    @property
    def ran_in(self) -> str:
        return f"rows of {self.module}"

    def install(self) -> None:
        rows = TABLES[self.module].rows
        if self.row is None:
            del rows[self.pair]
        else:
            rows[self.pair] = self.row


def list_row_mutants(module: str) -> Iterator[RowMutant]:
    """Yield the changes of the table of a module; none for a module without a table."""
    table = TABLES.get(module)
    if table is None:
        return
    for number, (pair, (to, moves)) in enumerate(table.rows.items()):
        rows: list[Row | None] = [None]
        statuses = cast("Any", type(to))
        rows += [(other, moves) for other in statuses if other is not to]
        rows += [(to, moves[:index] + moves[index + 1 :]) for index in range(len(moves))]
        for row in rows:
            after = "no row" if row is None else _describe(*row)
            place = f"{module}:{pair[0]}, {pair[1]}"
            key = f"{place}: {_describe(to, moves)} -> {after}"
            yield RowMutant(module, place, key, range(number, number + 1), pair, row)


def _describe(to: StrEnum, moves: tuple[StrEnum, ...]) -> str:
    return ", ".join(map(str, (to, *moves)))


class NotedRows(dict[Any, Any]):
    """The rows of a table, which note the numbers of those that were looked up."""

    def __init__(self, rows: dict[Any, Any]) -> None:
        super().__init__(rows)
        self.numbers = {pair: number for number, pair in enumerate(rows)}
        self.noted: set[int] = set()

    def __getitem__(self, pair: Any) -> Any:
        self.noted.add(self.numbers.get(pair, -1))
        return super().__getitem__(pair)

    def __contains__(self, pair: object) -> bool:
        self.noted.add(self.numbers.get(pair, -1))
        return super().__contains__(pair)

    def __iter__(self) -> Iterator[Any]:
        self.noted.update(self.numbers.values())
        return super().__iter__()

    def items(self) -> Any:
        self.noted.update(self.numbers.values())
        return super().items()

    def values(self) -> Any:
        self.noted.update(self.numbers.values())
        return super().values()


def note_rows() -> dict[str, NotedRows]:
    """Let the tables note which rows are looked up, by module."""
    noted = {module: NotedRows(table.rows) for module, table in TABLES.items()}
    for module, rows in noted.items():
        object.__setattr__(TABLES[module], "rows", rows)
    return noted
