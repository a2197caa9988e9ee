"""Owns what an action does to a state: the protocol's three reducers, the same as every client's. Pure.

They work on JSON, not on models: fields and parts that nobody here knows are carried along, and nothing is raised, as
the protocol wants it. A state is never changed; the result shares with it all parts that stay the same. `hub.py`
applies them.
"""

from jupyter_eca.fronts.ahp.reducers.root import reduce_root
from jupyter_eca.fronts.ahp.reducers.session import reduce_session
from jupyter_eca.fronts.ahp.reducers.terminal import reduce_terminal

__all__ = ["reduce_root", "reduce_session", "reduce_terminal"]
