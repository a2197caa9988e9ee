"""The ports: what tools need of the outside, without knowing where it is. Path containment is decided here, once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult


@dataclass(frozen=True, slots=True)
class Files:
    """The folders the assistant may see. `roots` are absolute; relative paths start at the first."""

    roots: tuple[Path, ...]

    def resolve(self, path: str) -> Path:
        """The real path, every symbolic link followed (also of a file that is still to be made).

        Raises: ToolError when it lies outside of all roots.
        """
        try:
            real = (self.roots[0] / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"{path!r} is not a usable path: {error}.") from error
        if not any(real.is_relative_to(root.resolve()) for root in self.roots):
            folders = ", ".join(str(root) for root in self.roots)
            raise ToolError(f"{path} is outside of the workspace.", f"Use a path inside of {folders}.")
        return real

    def shown(self, path: Path) -> str:
        """A path that `resolve` takes back: relative in the first root, absolute in the others."""
        first = self.roots[0].resolve()
        return str(path.relative_to(first) if path.is_relative_to(first) else path)


class Kernel(Protocol):
    """A live kernel. Cancelling a call interrupts what it runs."""

    @property
    def description(self) -> str:
        """A sentence for the model: language, how it was started."""
        ...

    async def execute(self, chat: str, code: str) -> KernelExecuteResult:
        """Raises: ToolError when the kernel is gone or dies on the way."""
        ...

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:
        """Raises: ToolError when the kernel is gone or cannot be introspected."""
        ...


@dataclass(frozen=True, slots=True)
class Workspace:
    """`kernel` answers for chats that no live notebook asked in; None where there is none."""

    files: Files
    kernel: Kernel | None = None
