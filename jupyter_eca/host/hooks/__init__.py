"""The user's hooks: programs that run at certain moments of a session, a chat or a turn, and may have a say in it.

`config.hooks` reads what the configuration says of them, `matching` finds those for a moment, `process` runs one,
`effects` combines what several say. `runner` knows when they run, `turn_hooks` what comes of them in a turn.
"""

from jupyter_eca.config.hooks import Action, Hook, HookType, RejectedHook, parse_hooks
from jupyter_eca.host.hooks.effects import Effects, HookReply, chain, combine, lines
from jupyter_eca.host.hooks.matching import matches
from jupyter_eca.host.hooks.process import HookRun, run

__all__ = [
    "Action",
    "Effects",
    "Hook",
    "HookReply",
    "HookRun",
    "HookType",
    "RejectedHook",
    "chain",
    "combine",
    "lines",
    "matches",
    "parse_hooks",
    "run",
]
