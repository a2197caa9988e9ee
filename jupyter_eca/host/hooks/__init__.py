"""Owns the user's hooks: programs that run on events of a session, a chat or a turn, and may change what happens.

`config.hooks` parses their configuration, `matching` finds the hooks for an event, `process` runs one, and
`hook_replies` combines what several answered. `runner` runs all hooks of an event, and `turn_hooks` applies their
effects to a turn.
"""

from jupyter_eca.config.hooks import Action, Hook, HookType, RejectedHook, parse_hooks
from jupyter_eca.host.hooks.hook_replies import HookEffects, HookReply, combine, format_output_and_errors, update_input
from jupyter_eca.host.hooks.matching import list_inputs
from jupyter_eca.host.hooks.process import HookRun, run

__all__ = [
    "Action",
    "Hook",
    "HookEffects",
    "HookReply",
    "HookRun",
    "HookType",
    "RejectedHook",
    "combine",
    "format_output_and_errors",
    "list_inputs",
    "parse_hooks",
    "run",
    "update_input",
]
