"""A variable of the live kernel as a model reads it, as far as the configuration lets its value be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import Telling
from jupyter_eca.workspace.reading import image

if TYPE_CHECKING:
    from jupyter_eca.config.schema import VariablesConfig
    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.notebook import Variable

# Beneath what is told without its value.
HELD_BACK: Final = "[values are not told: the setting notebook.variables]"


def described(variable: Variable, telling: VariablesConfig) -> list[str]:
    """In lines, the first with its name and type; a sample of a table is several in one."""
    disclosure = consent(variable, telling)
    if disclosure is Telling.NAMES:
        return [f"{variable.name}: {variable.type}"]
    lines = [f"{variable.name}: {about(variable)}"]
    if variable.memory is not None:
        lines.append(f"memory: {variable.memory:,} bytes")
    if variable.columns:
        lines.append("columns: " + ", ".join(f"{column.name}: {column.dtype}" for column in variable.columns))
    if disclosure is Telling.FULL:
        lines += [text] if (text := variable.sample or variable.preview) else []
    return lines


def pictured(variable: Variable, telling: VariablesConfig) -> tuple[ImagePart, ...]:
    """Raises: ToolError when it is none that a model can be shown."""
    is_allowed = variable.image and consent(variable, telling) is Telling.FULL
    return (image.of_base64(variable.image, f"the picture of {variable.name}"),) if is_allowed else ()


def consent(variable: Variable, telling: VariablesConfig) -> Telling:
    if variable.columns:
        return telling.table
    if variable.image or variable.type.startswith("matplotlib."):
        return telling.figure
    return telling.value if variable.shape is None else telling.array


def about(variable: Variable) -> str:
    size = " x ".join(map(str, variable.shape or ())) or (
        "" if variable.length is None else f"of length {variable.length}"
    )
    return " ".join(word for word in (variable.type, size, variable.dtype) if word)
