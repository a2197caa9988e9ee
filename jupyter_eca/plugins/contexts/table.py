"""The context of a table of a database, to which a variable of the live kernel is a connection.

`@table:orders` gives the model the same as `@var:con.orders`, and the user need not know which variable is the
connection. If several connections have a table `orders`, the user chooses with `@table:con.orders`. It must not read a
database: `workspace/kernels/database.py` does, in the kernel.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.cell import MAX_OFFERED
from jupyter_eca.plugins.contexts.reading.kernel_variables import read_variables, render_variable
from jupyter_eca.plugins.contexts.reading.recent_look import find_best, get_first_line
from jupyter_eca.protocol.context import TableContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.config.schema import VariablesConfig
    from jupyter_eca.plugins.contexts.base import Material, Surroundings
    from jupyter_eca.protocol.notebook import Variable

# The word before the name of a table in a message.
WORD: Final = "table:"

# How many tables an error names, at most.
_MAX_NAMED: Final = 20


class TablePlug:
    """The plug: `query` offers the tables of all connections, and `resolve` reads one. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "table"

    async def query(self, surroundings: Surroundings, query: str) -> list[TableContext]:
        """Offer the tables whose names fit the query, with or without the word `table:` before it."""
        tables = _list_tables(
            await surroundings.recent_looks.read_databases(surroundings, patient=query.startswith(WORD))
        )
        found = find_best(tables, query, MAX_OFFERED)
        if query.startswith(WORD) or WORD.startswith(query):
            found += [table for table in find_best(tables, query[len(WORD) :], MAX_OFFERED) if table not in found]
        return found[:MAX_OFFERED]

    async def resolve(self, surroundings: Surroundings, context: TableContext) -> Material:
        """Read the table. Raises: ToolError when it does not exist, or the name means several tables."""
        variables = await read_variables(surroundings)
        connections = [variable.name for variable in variables if variable.database]
        if not connections:
            raise ToolError(
                "No variable of the kernel is a connection to a database.",
                "Connections of sqlite3, DuckDB, SQLAlchemy and ibis are known.",
            )
        table = await _find_table(surroundings, connections, context.name)
        return await render_variable(table, surroundings.variables_config)


CONTEXT = TablePlug()


def _list_tables(databases: Sequence[Variable]) -> dict[str, TableContext]:
    """Return the tables of all databases by the name with which a message mentions them. This is the name of the table
    alone, unless this name could also mean another table."""
    names = Counter(table.name.casefold() for database in databases for table in database.tables)
    connections = {database.name for database in databases}
    tables: dict[str, TableContext] = {}
    for database in databases:
        for table in database.tables:
            is_clear = names[table.name.casefold()] == 1 and table.name.partition(".")[0] not in connections
            name = table.name if is_clear else f"{database.name}.{table.name}"
            if "\n" in name:
                continue
            columns = ", ".join(column.name for column in table.columns)
            kind = f"{'view' if table.is_view else 'table'} of {database.name}"
            description = get_first_line(f"{kind}: {columns}" if columns else kind)
            tables[name] = TableContext(label=f"{WORD}{name}", description=description, name=name)
    return tables


async def _find_table(surroundings: Surroundings, connections: Sequence[str], name: str) -> Variable:
    """Return the table that a name means, such as `orders` or `con.orders`.

    Raises: ToolError when there is no such table, or more than one.
    """
    connection, dot, _ = name.partition(".")
    # The name, if it begins with a connection; else "".
    with_connection = name if dot and connection in connections else ""
    names = [f"{other}.{name}" for other in connections]
    found = {
        variable.name: variable
        for variable in await read_variables(surroundings, *filter(None, (with_connection, *names)))
    }
    # A database that could not be read has no columns here, but a remark that says why.
    tables = [variable for variable in found.values() if variable.columns]
    if (exact := found.get(with_connection)) is not None and (exact.columns or not tables):
        return exact
    if len(tables) == 1:
        return tables[0]
    if tables:
        choices = " or ".join(f"@{WORD}{table.name}" for table in tables)
        raise ToolError(f"Several connections have a table {name}.", f"Write {choices}.")
    databases = await read_variables(surroundings, *connections)
    raise ToolError(
        f"No connection of the kernel has a table {name}.",
        _describe_databases(databases, surroundings.variables_config),
    )


def _describe_databases(databases: Iterable[Variable], variables_config: VariablesConfig) -> str:
    """Return which tables there are, as far as the configuration allows it, and which databases could not be read."""
    databases = tuple(databases)
    if variables_config.table is VariableDetail.NAMES:
        return f"The connections are: {', '.join(database.name for database in databases)}."
    names = [f"{database.name}.{table.name}" for database in databases for table in database.tables]
    count = len(names) + sum(database.tables_left_out for database in databases)
    more = f" and {count - _MAX_NAMED:,} more" if count > _MAX_NAMED else ""
    sentences = [f"The tables are: {', '.join(names[:_MAX_NAMED])}{more}."] if names else []
    sentences += [f"{database.name}: {database.remark}" for database in databases if database.remark]
    return " ".join(sentences or ("There are no tables.",))
