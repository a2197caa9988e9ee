"""What an action makes of a state: the protocol's three reducers, the same as every client's.

They work on JSON itself, not on models: fields and parts that nobody here knows are carried along, and nothing is
raised, as the protocol wants of both sides. Nothing given is changed; what is not touched is shared with the result.
"""

from jupyter_eca.fronts.ahp.reducers.root import reduce_root
from jupyter_eca.fronts.ahp.reducers.session import reduce_session
from jupyter_eca.fronts.ahp.reducers.terminal import reduce_terminal

__all__ = ["reduce_root", "reduce_session", "reduce_terminal"]
