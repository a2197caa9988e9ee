"""Renders a variable of a kernel as text for a model. The user's configuration (`notebook.variables`) decides how much
of its value the model sees.

It must not ask kernels: the variables come from `kernels/`. There, `profile.py` explains what a profile is, and
`introspect.py` what a preview and a sample are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.workspace.reading import image

if TYPE_CHECKING:
    from jupyter_eca.config.schema import VariablesConfig
    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.notebook import Variable

# The characters for the tables of a database: for all lines of tables with their columns, for one such line, and for
# the names of all other tables.
_TABLES_CHARS: Final = 4_000
_TABLE_CHARS: Final = 300
_NAMES_CHARS: Final = 1_000

# Shown below variables whose values are withheld.
VALUES_WITHHELD: Final = "[values are not told: the setting notebook.variables]"


def describe(variable: Variable, config: VariablesConfig) -> list[str]:
    """Describe a variable. The first item has its name and its type. Each item is one line, except the profile and
    the sample of a table."""
    disclosure = choose_disclosure(variable, config)
    if disclosure is VariableDetail.NAMES:
        return [f"{variable.name}: {variable.type}"]
    lines = [f"{variable.name}: {describe_type(variable)}"]
    lines += [variable.database] if variable.database else []
    lines += _describe_tables(variable)
    lines += [f"[{variable.remark}]"] if variable.remark else []
    if variable.memory is not None:
        lines.append(f"memory: {variable.memory:,} bytes")
    is_full = disclosure is VariableDetail.FULL
    # A profile names the columns too, with their types. A variable that also has a sample has an incomplete profile.
    if variable.columns and not (is_full and variable.profile and not variable.sample):
        lines.append("columns: " + ", ".join(f"{column.name}: {column.dtype}" for column in variable.columns))
    if is_full:
        lines += [text for text in (variable.profile, variable.sample or variable.preview) if text]
    return lines


def _describe_tables(variable: Variable) -> list[str]:
    """Return the lines about the tables of a database. As far as there is room, each table has a line with its columns.
    Then one line has the names of other tables, and one line the number of the rest."""
    lines: list[str] = []
    names: list[str] = []
    left_out = variable.tables_left_out
    for table in variable.tables:
        columns = ", ".join(f"{column.name} {column.dtype}".strip() for column in table.columns)
        line = _cut(f"{'view ' if table.is_view else ''}{table.name}: {columns}", _TABLE_CHARS)
        if table.columns and not names and sum(map(len, lines)) + len(line) <= _TABLES_CHARS:
            lines.append(line)
        elif sum(map(len, names)) + len(table.name) <= _NAMES_CHARS:
            names.append(_cut(table.name, _TABLE_CHARS))
        else:
            left_out += 1
    lines += [f"further tables: {', '.join(names)}"] if names else []
    lines += [f"[{left_out:,} more tables]"] if left_out else []
    return lines


def _cut(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def load_picture(variable: Variable, config: VariablesConfig) -> tuple[ImagePart, ...]:
    """Load the picture of a variable, if it has one that may be disclosed.

    Raises: ToolError when it is not an image that can be sent to a model.
    """
    is_allowed = variable.image and choose_disclosure(variable, config) is VariableDetail.FULL
    return (image.load_base64(variable.image, f"the picture of {variable.name}"),) if is_allowed else ()


def choose_disclosure(variable: Variable, config: VariablesConfig) -> VariableDetail:
    """Return how much of a variable the configuration discloses. This depends on the kind of its value."""
    if variable.columns or variable.database:
        return config.table
    if variable.image or variable.type.startswith("matplotlib."):
        return config.figure
    return config.value if variable.shape is None else config.array


def describe_type(variable: Variable) -> str:
    """Describe the type, the size and the data type of a variable."""
    size = " x ".join(map(str, variable.shape or ())) or (
        "" if variable.length is None else f"of length {variable.length}"
    )
    return " ".join(word for word in (variable.type, size, variable.dtype) if word)
