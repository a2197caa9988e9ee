"""Reads the policy documents, all of which apply at the same time. A document that has an error is replaced by a strict
one.

The documents are, in this order:

1. `jupyter_eca_policy.json` in Jupyter's folders for the settings of the whole system;
2. the variable `JUPYTER_ECA_POLICY`: the path of a file, or the document itself;
3. the variable `JUPYTER_ECA_SERVER_POLICY`: the same, from the setting `EcaApp.policy` of a Jupyter server. The server
   sets the variable for its kernels.

It must not apply a policy: its neighbour `enforcement` does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from jupyter_eca.config import jsonc
from jupyter_eca.config.disk.kernel_sandbox import may_want_sandbox
from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.config.policy.document import (
    FORCIBLE,
    ApprovalFloor,
    Feature,
    FeatureState,
    FeatureStates,
    PolicyDocument,
)
from jupyter_eca.config.schema import Config
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The variables and the name of the file that may have a policy, see the top of this module.
VARIABLE: Final = "JUPYTER_ECA_POLICY"
SERVER_VARIABLE: Final = "JUPYTER_ECA_SERVER_POLICY"
FILE_NAME: Final = "jupyter_eca_policy.json"

# Jupyter's folders for the settings of the whole system.
SYSTEM_FOLDERS: Final = (
    (Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "jupyter",)
    if os.name == "nt"
    else (Path("/etc/jupyter"), Path("/usr/local/etc/jupyter"))
)

# The reason for each refusal of the strict document, for the user.
_BROKEN: Final = (
    "The policy of the administrator has an error: {error} Until it is corrected, everything is off that asks or "
    "leaves this machine."
)
# It follows the reason if the document may ask for kernels in the sandbox.
_SANDBOXED: Final = " Kernels start in the sandbox, because the policy may ask for it."
# What the strict document then locks. The narrowest sandbox is used, because the document may ask for a narrow one.
_KERNEL_SANDBOX: Final[dict[str, Any]] = {"sandbox": {"kernels": True, "network": False, "writable": []}}
# The features in the strict document. All are off but the sandbox, which restricts commands, and the modes of outside
# agents, which are off themselves.
_OFF_FEATURES: Final = FeatureStates(
    **{name: FeatureState.FORCE_OFF for name in FeatureStates.model_fields if name not in {"sandbox", "agent_modes"}}
)


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """A policy document, and where it comes from."""

    document: PolicyDocument
    """The document; or, if it has an error, the strict document that replaces it."""
    name: str
    """Its file or variable."""
    error: str = ""
    """A sentence that says what is wrong with it; "" for nothing."""


def list_policy_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files that may have a policy, also those that do not exist."""
    named = [environment.get(variable, "").strip() for variable in (VARIABLE, SERVER_VARIABLE)]
    return (
        *(folder / FILE_NAME for folder in SYSTEM_FOLDERS),
        *(Path(text) for text in named if text and not text.startswith("{")),
    )


def read_policies(environment: Mapping[str, str]) -> tuple[ReadPolicy, ...]:
    """Return the policy documents. Blocks: it reads files. It never raises: a document with an error is replaced by one
    that switches off everything that asks or leaves the machine."""
    return tuple(_read_all(environment))


def _read_all(environment: Mapping[str, str]) -> Iterator[ReadPolicy]:
    """Yield the policy documents in their order. See `read_policies`."""
    for folder in SYSTEM_FOLDERS:
        # A link to a file that does not exist counts as a document with an error.
        if os.path.lexists(file := folder / FILE_NAME):
            yield _read_file(file)
    for variable in (VARIABLE, SERVER_VARIABLE):
        if text := environment.get(variable, "").strip():
            yield _parse(text, variable) if text.startswith("{") else _read_file(Path(text))


def _read_file(file: Path) -> ReadPolicy:
    """Return the document in a file. A named file that does not exist is an error, too."""
    try:
        data = read_regular(file, MAX_TEXT_BYTES)
    except OSError as error:
        return _replace_broken(str(file), f"{file} cannot be read: {error.strerror or error}.", None)
    try:
        text = data.decode("utf-8")
    except UnicodeError:
        return _replace_broken(str(file), f"{file} is not UTF-8.", data.decode("utf-8", errors="replace"))
    return _parse(text, str(file))


def _parse(text: str, source: str) -> ReadPolicy:
    """Return the document in a text. `source` is its name in an error."""
    try:
        document = PolicyDocument.model_validate(jsonc.parse(text, allows_duplicates=False))
        _check(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        return _replace_broken(source, f"{source}: {path}: {first['msg']}.", text)
    except (ConfigError, ValueError, RecursionError) as error:
        return _replace_broken(source, f"{source}: {str(error).rstrip('.')}.", text)
    return ReadPolicy(document, source)


def _check(document: PolicyDocument) -> None:
    """Check what the schema cannot check. Raises: ValueError."""
    for feature in Feature:
        if document.features.get(feature) is FeatureState.FORCE_ON and feature not in FORCIBLE:
            raise ValueError(f"features.{feature.value} cannot be forced on")
    for selector in (*document.approval.deny, *document.approval.always_ask):
        if "*" in selector:
            raise ValueError(f"approval: {selector!r} is a pattern, but a selector is the name of a tool or a server")
    for pattern in document.allow.urls or ():
        if pattern != "*" and "://" not in pattern:
            raise ValueError(f"allow.urls: {pattern!r} must begin with a scheme, such as https://")
    if "approval" in document.locked.get("toolCall", {}):
        raise ValueError("locked.toolCall.approval: write the rules under `approval`")
    parsed = Config.model_validate(document.locked).model_dump(by_alias=True, exclude_unset=True)
    for path in list_leaves(document.locked):
        found: Any = parsed
        for key in path:
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
        if found is None:
            raise ValueError(f"locked.{'.'.join(path)} is not a key of the configuration")


def list_leaves(settings: Mapping[str, Any], *path: str) -> list[tuple[str, ...]]:
    """Return the paths to all values that are not objects: `{"a": {"b": 1}}` -> `[("a", "b")]`."""
    leaves: list[tuple[str, ...]] = []
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            leaves += list_leaves(cast("dict[str, Any]", value), *path, key)
        else:
            leaves.append((*path, key))
    return leaves


def _replace_broken(name: str, error: str, text: str | None) -> ReadPolicy:
    """Return the strict document that replaces a document with an error. `text` is that of the document; None if it
    cannot be read."""
    may_ask_for_sandbox = text is None or may_want_sandbox(text)
    sentence = _BROKEN.format(error=error) + (_SANDBOXED if may_ask_for_sandbox else "")
    document = PolicyDocument(
        contact=sentence,
        approval=ApprovalFloor(by_default=Decision.DENY),
        features=_OFF_FEATURES,
        offline=True,
        locked={
            "review": "before",
            "mcpSampling": {"approval": "deny"},
            **({"toolCall": _KERNEL_SANDBOX} if may_ask_for_sandbox else {}),
        },
    )
    return ReadPolicy(document, name, sentence)
