"""The user's hooks: programs that run at certain moments of a session, a chat or a turn, and may have a say in it.

`reading` has what the configuration says of them, `matching` whether one is for a moment, `running` runs one, `effects`
is what several of them together make of the moment. When they run and what comes of it is the host's (`hooking`).
"""

from jupyter_eca.config.hooks import Action, Hook, HookType, Refused, read
from jupyter_eca.host.hooks.effects import Effects, Reply, chained, effects, lines
from jupyter_eca.host.hooks.matching import matches
from jupyter_eca.host.hooks.process import Ran, run

__all__ = [
    "Action",
    "Effects",
    "Hook",
    "HookType",
    "Ran",
    "Refused",
    "Reply",
    "chained",
    "effects",
    "lines",
    "matches",
    "read",
    "run",
]
