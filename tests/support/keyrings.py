"""System keyrings as they come: one that works, one that is out of reach. `filering` has one for other processes."""

from __future__ import annotations

from dataclasses import dataclass, field


class NoRing:
    """Recommended and there, and locked or not reached: everything raises, with the secret in it."""

    priority = 5.0

    def get_password(self, service: str, username: str, /) -> str | None:
        raise RuntimeError(f"no answer for {service} {username}")

    def set_password(self, service: str, username: str, password: str, /) -> None:
        raise RuntimeError(f"no answer for {service} {username} {password}")

    def delete_password(self, service: str, username: str, /) -> None:
        raise RuntimeError(f"no answer for {service} {username}")


@dataclass
class Ring:
    """`full`: it takes nothing more; `forgets`: nor keeps what it takes."""

    kept: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    priority: float = 5.0
    full: bool = False
    forgets: bool = False

    def get_password(self, service: str, username: str, /) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str, /) -> None:
        if self.full:
            raise RuntimeError(f"no room for {password}")
        if not self.forgets:
            self.kept[service, username] = password

    def delete_password(self, service: str, username: str, /) -> None:
        del self.kept[service, username]
