"""The revisions of ECA that clients speak: which one a client does (`which`), its words in ours (`heard`), ours in its
(`said`), and how much of them it can read at once (`short`). Our models speak the newest one; nothing outside of here
knows of any other."""

from jupyter_eca.protocol.dialect.detect import Dialect, choose, learned
from jupyter_eca.protocol.dialect.incoming import diagnostics, incoming
from jupyter_eca.protocol.dialect.outgoing import outgoing, result
from jupyter_eca.protocol.dialect.truncate import most, shortened

__all__ = ["Dialect", "choose", "diagnostics", "incoming", "learned", "most", "outgoing", "result", "shortened"]
