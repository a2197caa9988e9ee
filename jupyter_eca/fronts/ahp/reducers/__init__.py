"""Owns the three reducers of the Agent Host Protocol. A reducer is a function: `reduce(state, action, now)` returns the
state after an action. Pure. Every client has the same reducers, and so the same states.

Reducers work on JSON and not on models, because the protocol requires that unknown fields are kept and that no action
raises an error. They never change a state in place: the new state shares all parts that stay the same with the old one.
They must not know whether an action is allowed (`../session/action_rules.py`). `../hub.py` calls the reducers.
"""

from jupyter_eca.fronts.ahp.reducers.root import reduce_root
from jupyter_eca.fronts.ahp.reducers.session import reduce_session
from jupyter_eca.fronts.ahp.reducers.terminal import reduce_terminal

__all__ = ["reduce_root", "reduce_session", "reduce_terminal"]
