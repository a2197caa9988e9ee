"""Owns the dialects of ECA: it chooses a client's dialect (`detect`), translates messages (`incoming`, `outgoing`), and
shortens messages that a client cannot read at once (`message_limit`).

ECA, the protocol that our clients speak, has changed over the years, and has no version number. A dialect is the
revision of ECA that one client speaks.

Our models speak the newest revision only. No code outside this folder may depend on the words of an older one; the ECA
front calls this folder at its edge.
"""

from jupyter_eca.protocol.dialect.detect import Dialect, correct_dialect, detect_dialect
from jupyter_eca.protocol.dialect.incoming import translate_diagnostics, translate_incoming
from jupyter_eca.protocol.dialect.message_limit import get_message_limit, shorten
from jupyter_eca.protocol.dialect.outgoing import translate_notification, translate_result

__all__ = [
    "Dialect",
    "correct_dialect",
    "detect_dialect",
    "get_message_limit",
    "shorten",
    "translate_diagnostics",
    "translate_incoming",
    "translate_notification",
    "translate_result",
]
