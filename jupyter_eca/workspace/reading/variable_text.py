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


def described(one: Variable, telling: VariablesConfig) -> list[str]:
    """In lines, the first with its name and type; a sample of a table is several in one."""
    much = consent(one, telling)
    if much is Telling.NAMES:
        return [f"{one.name}: {one.type}"]
    found = [f"{one.name}: {about(one)}"]
    if one.memory is not None:
        found.append(f"memory: {one.memory:,} bytes")
    if one.columns:
        found.append("columns: " + ", ".join(f"{column.name}: {column.dtype}" for column in one.columns))
    if much is Telling.FULL:
        found += [text] if (text := one.sample or one.preview) else []
    return found


def pictured(one: Variable, telling: VariablesConfig) -> tuple[ImagePart, ...]:
    """Raises: ToolError when it is none that a model can be shown."""
    told = one.image and consent(one, telling) is Telling.FULL
    return (image.of_base64(one.image, f"the picture of {one.name}"),) if told else ()


def consent(one: Variable, telling: VariablesConfig) -> Telling:
    if one.columns:
        return telling.table
    if one.image or one.type.startswith("matplotlib."):
        return telling.figure
    return telling.value if one.shape is None else telling.array


def about(one: Variable) -> str:
    size = " x ".join(map(str, one.shape or ())) or ("" if one.length is None else f"of length {one.length}")
    return " ".join(word for word in (one.type, size, one.dtype) if word)
