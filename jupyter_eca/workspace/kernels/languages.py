"""Builds the programs that list variables and inspect names in R and Julia kernels, and parses the JSON that they
print.

It must not talk to kernels: `client.py` runs the programs. Python kernels run `introspect.py`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import KernelVariablesResult

# The names of the language in Python kernels. It is empty where the language is not known, which is then Python.
PYTHON_NAMES: Final = frozenset({"", "python", "ipython"})


def build_variables_program(language: str, names: tuple[str, ...]) -> str:
    """Return the program that describes the variables with these names; without names, all variables of the user.

    Raises: ToolError for a language that has no such program.
    """
    match language:
        case "r":
            return f"{_build_r_library()}$variables(c({', '.join(map(_quote_r, names))}))"
        case "julia":
            # `introspect.jl` has the word `ASKED` in the place of the names that are described.
            return _load_program("jl").replace("ASKED", ", ".join(map(_quote_julia, names)))
        case _:
            raise ToolError(
                f"The variables of a {language} kernel cannot be listed; those of Python, R and Julia can.",
                "Use run_code to print what matters.",
            )


def parse_variables(text: str) -> KernelVariablesResult:
    """Parse the output of the program that lists variables.

    Raises: ToolError when the output is not what such a program prints.
    """
    try:
        parsed = json.loads(text)
        # The R program returns variables without a description in `types`, as a column of names and one of types.
        types = parsed.pop("types", {"name": [], "type": []})
        others = [{"name": name, "type": type} for name, type in zip(types["name"], types["type"], strict=True)]
        return KernelVariablesResult.model_validate(parsed | {"variables": parsed["variables"] + others})
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"This kernel's variables cannot be read: {text[:200]!r}.") from error


def build_inspection_program(language: str, name: str) -> str | None:
    """Return the program that inspects a name. Return None for a language whose kernel gives the same information by
    Jupyter's own inspect request."""
    return f"{_build_r_library()}$inspect({_quote_r(name)})" if language == "r" else None


@cache
def _build_r_library() -> str:
    """Return an R expression that evaluates our R functions from a quoted string. If the kernel parsed them itself, it
    would keep a reference to each line of the source, which takes longer than running the program."""
    return f"eval(parse(text = {_quote_r(_load_program('R'))}, keep.source = FALSE))"


@cache
def _load_program(suffix: str) -> str:
    """Return the text of `introspect.R` or `introspect.jl`."""
    return files("jupyter_eca.workspace.kernels").joinpath(f"introspect.{suffix}").read_text("utf-8").rstrip()


def _quote_r(text: str) -> str:
    """Quote a text of the model as a literal of R, so that nothing in it is evaluated. Strings of R cannot contain
    NUL."""
    plain = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return json.dumps(plain, ensure_ascii=False)


def _quote_julia(text: str) -> str:
    """Quote a text as a literal of Julia. There `$` would insert the value of a variable."""
    return _quote_r(text).replace("$", "\\$")
