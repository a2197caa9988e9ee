"""`jupyter_eca.Panel()` and `%eca panel`: the side panel as a widget, for front ends without our extension. It
imports nothing heavy before a page connects: `link` has what comes then.

Each channel of a page is joined to the engine by a link of its own. Behind the widget stands an output with the text of
the chat, for whoever reads the notebook later.
"""

from __future__ import annotations

import asyncio
import importlib
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.apps.kernel.cell_session import CellSession, session_of
from jupyter_eca.apps.kernel.panel.multi_page_widget import Paged
from jupyter_eca.apps.kernel.surroundings import FrontEndKind
from jupyter_eca.apps.kernel.surroundings import find_front_end_for_panels as look
from jupyter_eca.errors import EcaError
from jupyter_eca.transport.comm import CommLink

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.panel.record import Record

# Seconds in which an old page must answer after another page has come. A page that was reloaded never said that it
# leaves.
_PAGE_PATIENCE: Final = 10.0

NO_WIDGETS: Final = (
    "This front end shows no widgets, so there is no panel here. Ask with `%eca QUESTION`: answers come as text, and "
    "approvals are asked by `input()`."
)
NOBODY_LOOKS: Final = (
    "A panel with the assistant appears here when somebody runs this cell in a notebook. Nobody watches now: ask with "
    "`%eca QUESTION`."
)


class Panel(Paged):
    """A panel with the assistant, to be shown in a cell: `Panel()`, or `Panel(chat)` to continue a chat by its id.

    It uses the engine that `%%eca` asks, and the chat of the cells unless it is given another one. It needs a running
    kernel.
    """

    def __init__(self, chat: str = "") -> None:
        """Raises: RuntimeError outside of a kernel."""
        session = _session()
        super().__init__()
        self._session = session
        self._chat = chat
        self._publisher = session.shell.display_pub
        self._surroundings = look(session.shell)
        self._heard: set[str] = set()
        self._record: Record | None = None
        self._written = PanelOutput(self._publisher)

    # -- how it is shown

    def _ipython_display_(self) -> None:
        self.show()

    def show(self) -> None:
        if self._surroundings is not FrontEndKind.NOTEBOOK:
            text = NOBODY_LOOKS if self._surroundings is FrontEndKind.UNATTENDED else NO_WIDGETS
            self._publisher.publish({"text/markdown": text, "text/plain": text})
            return
        bundle: Any = super()._repr_mimebundle_()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped library
        data, metadata = cast("tuple[dict[str, Any], dict[str, Any]]", bundle)
        text = "A panel with the assistant."
        self._publisher.publish({**data, "text/markdown": f"*{text}*", "text/plain": text}, metadata=metadata)
        self._written.begin()

    # -- what pages say

    def _hear(self, content: Any) -> None:
        match content:
            case {"channel": str(channel)}:
                self._heard.add(channel)
            case _:
                pass
        super()._hear(content)

    def _hear_state(self, content: Any) -> None:
        match content:
            case {"record": str(state)}:
                self._written.folded = state != "hidden"
                if self._record is not None:
                    self._written.write(self._record)
            case _:
                pass

    async def _serve(self, channel: str) -> None:
        """Serve one page until the page or the engine leaves."""
        # These imports take a second (pydantic and what depends on it). Done here, the panel is on the page before, and
        # the loop is free.
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.apps.kernel.panel.link")
        from jupyter_eca.apps.kernel.panel.link import Recorder, make_bridge

        try:
            await self._session.connect(unattended=False)
            engine = await self._session.engine.join()
        except EcaError as error:
            self._say(channel, {"closed": True, "why": str(error)})
            return
        page = self._links[channel] = CommLink(partial(self._say, channel), lambda: None)
        self.start(self._leave_to(channel))
        recorder = Recorder(self._written.write, self._loop)
        self._record = recorder.record
        chat = self._chat or self._session.engine.chat
        self._say(channel, {"opened": True, "chat": chat, "resumed": self._chat != ""})
        try:
            await make_bridge(self._session, page, engine, recorder).run()
        finally:
            self._links.pop(channel, None)
            recorder.end()
            self._say(channel, {"closed": True})

    async def _leave_to(self, channel: str) -> None:
        """Close the other pages that do not answer: they were reloaded or closed."""
        others = [other for other in self._links if other != channel]
        self._heard.difference_update(others)
        for other in others:
            self._say(other, {"ping": True})
        if others:
            await asyncio.sleep(_PAGE_PATIENCE)
        for other in others:
            if other not in self._heard:
                self._end(other)


class PanelOutput:
    """The output below the panel. It is `folded` until the page says that it hides it."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher
        self._id = uuid.uuid4().hex
        self._shown = ""
        self._begun = False
        self.folded = True

    def begin(self) -> None:
        """Publish the output in the cell that shows the panel. Called each time it is shown."""
        self._publisher.publish(self._data(self._shown, ""), transient={"display_id": self._id})
        self._begun = True

    def write(self, record: Record) -> None:
        text = record.as_markdown(folded=self.folded)
        if self._begun and text and text != self._shown:
            self._shown = text
            self._publisher.publish(self._data(text, record.plain()), transient={"display_id": self._id}, update=True)

    def _data(self, markdown: str, plain: str) -> dict[str, str]:
        # While there is nothing to read, no page needs to load its renderer of Markdown and formulas: our widget draws
        # the text.
        return {"text/markdown": markdown, "text/plain": plain} if markdown else {"text/plain": plain}


def _session() -> CellSession:
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        raise RuntimeError("A panel needs a notebook's kernel. In a script, use `jupyter_eca.connect()`.")
    # Use IPython's own way to load it: `extension` imports the panel, so the panel must not import it.
    shell.extension_manager.load_extension("jupyter_eca")
    return session_of(shell)
