"""Owns the dialects of ECA: it chooses a client's dialect (`detect`), translates messages (`incoming`, `outgoing`), and
shortens messages that a client cannot read at once (`truncate`).

Our models speak the newest revision only. No code outside this folder may depend on the words of an older one; the ECA
front calls this folder at its edge.
"""

from jupyter_eca.protocol.dialect.detect import Dialect, choose, learned
from jupyter_eca.protocol.dialect.incoming import diagnostics, incoming
from jupyter_eca.protocol.dialect.outgoing import outgoing, result
from jupyter_eca.protocol.dialect.truncate import most, shortened

__all__ = ["Dialect", "choose", "diagnostics", "incoming", "learned", "most", "outgoing", "result", "shortened"]
