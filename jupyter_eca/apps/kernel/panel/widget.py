"""Owns the panel as a widget, `jupyter_eca.Panel()`, for front ends without our extension. It is the same panel as in
JupyterLab.

Each page that shows the widget is connected to the engine by a link of its own. Below the widget there is an output
with the text of the chat, the record. It is for readers of the saved notebook, in which the widget does not work. This
module must not import anything heavy before a page connects: `recorder` imports what is needed then.
"""

from __future__ import annotations

import asyncio
import importlib
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.apps.kernel.cell_session import CellSession, get_session
from jupyter_eca.apps.kernel.front_end import FrontEndKind, find_front_end_for_panels
from jupyter_eca.apps.kernel.panel.multi_page_widget import MultiPageWidget
from jupyter_eca.errors import EcaError
from jupyter_eca.transport.comm import CommLink

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.panel.record import Record

# Seconds in which the older pages must answer after a new page has connected. A page that is closed or reloaded does
# not report that. So this is the only way to find out that it does not exist any more.
_PAGE_SECONDS: Final = 10.0

NO_WIDGETS: Final = (
    "This front end shows no widgets, so there is no panel here. Ask with `%eca QUESTION`: answers come as text, and "
    "approvals are asked by `input()`."
)
NOBODY_WATCHES: Final = (
    "A panel with the assistant appears here when somebody runs this cell in a notebook. Nobody watches now: ask with "
    "`%eca QUESTION`."
)


class Panel(MultiPageWidget):
    """A panel with the assistant, to be shown in a cell. `Panel()` shows the chat of the cells, `Panel(chat)` continues
    the chat with this id.

    It uses the same engine as `%%eca`. It needs a running kernel.
    """

    def __init__(self, chat: str = "") -> None:
        """`chat` is the id of the chat to continue; "" for the chat of the cells. Raises: RuntimeError outside of a
        kernel."""
        session = _load_session()
        super().__init__()
        self._session = session
        self._chat = chat
        self._publisher = session.shell.display_pub
        self._front_end = find_front_end_for_panels(session.shell)
        self._answering_channels: set[str] = set()  # the channels of pages that have sent something since the last ping
        self._record: Record | None = None  # the record of the page that has connected last
        self._output = PanelOutput(self._publisher)

    # -- how it is shown

    def _ipython_display_(self) -> None:
        """Show the panel when it is the last value of a cell."""
        self.show()

    def show(self) -> None:
        """Show the panel in the running cell. A front end without widgets gets a sentence instead."""
        if self._front_end is not FrontEndKind.NOTEBOOK:
            text = NOBODY_WATCHES if self._front_end is FrontEndKind.UNATTENDED else NO_WIDGETS
            self._publisher.publish({"text/markdown": text, "text/plain": text})
            return
        bundle: Any = super()._repr_mimebundle_()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped library
        data, metadata = cast("tuple[dict[str, Any], dict[str, Any]]", bundle)
        text = "A panel with the assistant."
        self._publisher.publish({**data, "text/markdown": f"*{text}*", "text/plain": text}, metadata=metadata)
        self._output.publish()

    # -- messages of pages

    def _handle(self, content: Any) -> None:
        """Record that the page answers, and handle its message."""
        match content:
            case {"channel": str(channel)}:
                self._answering_channels.add(channel)
            case _:
                pass
        super()._handle(content)

    def _handle_state(self, content: Any) -> None:
        """Handle the message in which a page says whether it hides the output with the record. If it does not, fold the
        record, so that the text of the chat is not shown twice."""
        match content:
            case {"record": str(state)}:
                self._output.folded = state != "hidden"
                if self._record is not None:
                    self._output.write(self._record)
            case _:
                pass

    async def _serve(self, channel: str) -> None:
        """Serve a page until the page or the engine closes its link."""
        # These imports take a second (pydantic and what depends on it). They are done in a thread, when the panel is on
        # the page already.
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.apps.kernel.panel.recorder")
        from jupyter_eca.apps.kernel.panel.recorder import Recorder, make_bridge

        try:
            await self._session.connect(unattended=False)
            engine = await self._session.engine.open_link()
        except EcaError as error:
            self._send_to_page(channel, {"closed": True, "why": str(error)})
            return
        page = self._links[channel] = CommLink(partial(self._send_to_page, channel), lambda: None)
        self.start_task(self._close_silent_pages(channel))
        recorder = Recorder(self._output.write, self._loop)
        self._record = recorder.record
        chat = self._chat or self._session.engine.chat
        self._send_to_page(channel, {"opened": True, "chat": chat, "resumed": self._chat != ""})
        try:
            await make_bridge(self._session, page, engine, recorder).run()
        finally:
            self._links.pop(channel, None)
            recorder.end()
            self._send_to_page(channel, {"closed": True})

    async def _close_silent_pages(self, channel: str) -> None:
        """Ask all other pages to answer, and end the channels of those that do not: they were reloaded or closed."""
        others = [other for other in self._links if other != channel]
        self._answering_channels.difference_update(others)
        for other in others:
            self._send_to_page(other, {"ping": True})
        if others:
            await asyncio.sleep(_PAGE_SECONDS)
        for other in others:
            if other not in self._answering_channels:
                self._end_channel(other)


class PanelOutput:
    """The output after the panel, with the record of the chat. It is folded until the page reports that it hides the
    output."""

    def __init__(self, publisher: Any) -> None:
        """`publisher` is IPython's object that publishes outputs."""
        self._publisher = publisher
        self._id = uuid.uuid4().hex  # the display id
        self._shown = ""  # the Markdown that is shown now
        self._is_published = False  # whether the output exists, so that it can be replaced
        self.folded = True
        """Whether the reader must unfold the record to read it."""

    def publish(self) -> None:
        """Publish the output in the running cell. Call this each time the panel is shown."""
        self._publisher.publish(self._build_data(self._shown, ""), transient={"display_id": self._id})
        self._is_published = True

    def write(self, record: Record) -> None:
        """Publish the record, if its text has changed."""
        text = record.as_markdown(folded=self.folded)
        if self._is_published and text and text != self._shown:
            self._shown = text
            self._publisher.publish(
                self._build_data(text, record.as_text()), transient={"display_id": self._id}, update=True
            )

    def _build_data(self, markdown: str, plain: str) -> dict[str, str]:
        """Return the MIME bundle of the output."""
        # Without a text no Markdown is sent, so that the page need not load its renderer of Markdown and formulas.
        return {"text/markdown": markdown, "text/plain": plain} if markdown else {"text/plain": plain}


def _load_session() -> CellSession:
    """Load the extension, and return the session of the shell. Raises: RuntimeError outside of a kernel."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        raise RuntimeError("A panel needs a notebook's kernel. In a script, use `jupyter_eca.connect()`.")
    # The extension is loaded through IPython, because `extension` imports the panel, and must not be imported here.
    shell.extension_manager.load_extension("jupyter_eca")
    return get_session(shell)
