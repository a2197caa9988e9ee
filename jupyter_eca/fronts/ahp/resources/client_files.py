"""Owns the files that the server reads from a client of the Agent Host Protocol: files that its user has attached to a
message, and Markdown files with which the client customizes a session.

It must not know connections: a function `SendRequest` sends a request to the client. `files.py` owns the other
direction: files of the server that clients read.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.customizations import list_disabled
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list
from jupyter_eca.fronts.ahp.resources import attachments
from jupyter_eca.fronts.ahp.resources.files import MAX_FILE_BYTES
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.ahp.commands import AhpErrorCode, ResourceContent, ResourceListing
from jupyter_eca.protocol.ahp.content import ResourceAttachment
from jupyter_eca.protocol.context import ImageContext, TextContext
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.protocol.ahp.content import UserMessage
    from jupyter_eca.protocol.context import ChatContext

    SendRequest = Callable[[str, Json], Awaitable[Any]]
    """Sends a request with this method and these params to one client, and returns the result. Raises: RemoteError."""

# Seconds that a client has to answer a request.
ANSWER_SECONDS: Final = 10.0
# Seconds that a client has to give permission. It may have to ask its user.
PERMISSION_SECONDS: Final = 120.0

# At most this many Markdown files of one folder are read. They are all sent to the model.
_MAX_FILES: Final = 20


async def read(send_request: SendRequest, uri: str) -> tuple[bytes, str]:
    """Read a URI from a client. Return its content and its media type. If the client denies it, ask it for permission,
    and read again.

    Raises: RemoteError.
    """
    try:
        raw = await _request(send_request, ANSWER_SECONDS, "resourceRead", uri=uri)
    except RemoteError as error:
        if error.code != AhpErrorCode.PERMISSION_DENIED:
            raise
        await _request(send_request, PERMISSION_SECONDS, "resourceRequest", uri=uri, read=True)
        raw = await _request(send_request, ANSWER_SECONDS, "resourceRead", uri=uri)
    try:
        answer = ResourceContent.model_validate(raw)
        if len(answer.data) > MAX_FILE_BYTES * 4 // 3 + 4:  # base64 has 4 characters for 3 bytes
            raise RemoteError(f"it has more than {MAX_FILE_BYTES} bytes")
        is_text = answer.encoding == "utf-8"
        data = answer.data.encode() if is_text else base64.b64decode(answer.data, validate=True)
    except (ValidationError, binascii.Error, ValueError) as error:
        raise RemoteError("the client's answer is not a resource") from error
    return data, answer.content_type or ""


async def _request(send_request: SendRequest, seconds: float, method: str, **params: object) -> Any:
    """Send a request to the client, and return its result. Raises: RemoteError, also when the client does not answer in
    time."""
    try:
        async with asyncio.timeout(seconds):
            return await send_request(method, params)
    except TimeoutError as error:
        raise RemoteError("the client did not answer") from error


async def read_contexts(message: UserMessage, send_request: SendRequest | None) -> tuple[ChatContext, ...]:
    """Return the attachments of a message as contexts, which are what the model reads with the message. `send_request`
    sends requests to the client that sent the message; None if that client has left."""
    contexts: list[ChatContext] = []
    for attachment in message.attachments or ():
        if (
            send_request
            and isinstance(attachment, ResourceAttachment)
            # An attachment that we offered ourselves has its context, so nothing needs to be read.
            and attachments.META_KEY not in (attachment.meta or {})
            and await asyncio.to_thread(_is_at_client, attachment.uri)
        ):
            contexts.append(await _read_context(send_request, attachment))
        else:
            contexts += await asyncio.to_thread(
                attachments.read_contexts, message.model_copy(update={"attachments": (attachment,)})
            )
    return tuple(contexts)


def _is_at_client(uri: str) -> bool:
    """Return whether a URI must be read from the client: it is neither a web address nor a file of this machine."""
    path = parse_file_uri(uri)
    # `Path.exists` raises an error for a path that is too long.
    return not attachments.is_web_address(uri) if path is None else not os.path.exists(path)  # noqa: PTH110


async def _read_context(send_request: SendRequest, attachment: ResourceAttachment) -> ChatContext:
    """Read an attached file from the client, as a context. If this fails, the context says why."""
    try:
        data, media_type = await read(send_request, attachment.uri)
        if media_type.startswith("image/"):
            return ImageContext(media_type=media_type, base64=base64.b64encode(data).decode("ascii"))
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "(This is not text.)"
    except RemoteError as error:
        return TextContext(
            label=attachment.label, content=f"({attachment.uri} is at the client, and could not be read: {error}.)"
        )
    if (lines := attachments.read_lines(attachment.selection)) is not None:
        text = "".join(text.splitlines(keepends=True)[lines.start - 1 : lines.end])
    return TextContext(label=attachment.label, content=text)


class ClientCustomizations:
    """The Markdown files with which the active client customizes one session. The active client is the one whose tools
    and texts the model gets in this session. The model gets each file once, together with the next prompt.

    `session` is the URI of the session. `get_state` returns its current state. `dispatch` applies an action and sends
    it to all clients.
    """

    def __init__(
        self, session: str, get_state: Callable[[], Json], dispatch: Callable[[actions.AhpAction], None]
    ) -> None:
        self._session = session
        self._get_state = get_state
        self._dispatch = dispatch
        self._texts: dict[str, str] = {}  # the contents of the files, by their URIs
        self._sent_to_model: set[str] = set()  # the URIs of the files that the model has got
        self._loading: set[str] = set()  # the URIs of the files that are being read

    async def load(self, send_request: SendRequest) -> None:
        """Read every file whose customization has the status `loading`."""
        for customization in get_list(self._get_state(), "customizations"):
            uri = str(customization["customization"]["uri"])
            if "clientId" in customization and customization.get("status") == "loading" and uri not in self._loading:
                self._loading.add(uri)
                try:
                    await self._load(send_request, customization["customization"])
                finally:
                    self._loading.discard(uri)

    async def _load(self, send_request: SendRequest, ref: Json) -> None:
        """Read the file of one customization, and dispatch its new status. `ref` is the customization as the client
        describes it: its URI and its name."""
        uri, failure = str(ref["uri"]), None
        self._sent_to_model.discard(uri)
        try:
            self._texts[uri] = await _read_markdown(send_request, uri)
        except RemoteError as error:
            failure = str(error)
        # The client may have removed or changed the customization while its file was read.
        if any(
            customization["customization"] == ref and "clientId" in customization
            for customization in get_list(self._get_state(), "customizations")
        ):
            status = "error" if failure else "loaded"
            self._dispatch(
                actions.CustomizationUpdated(
                    session=self._session, customization=ref, status=status, status_message=failure
                )
            )

    def take_contexts(self) -> tuple[ChatContext, ...]:
        """Return the contexts with the files that the model has not got yet. From now on these files count as sent."""
        disabled = list_disabled(self._get_state())
        known = {
            customization["customization"]["uri"]: customization
            for customization in get_list(self._get_state(), "customizations")
            if "clientId" in customization
        }
        self._texts = {uri: text for uri, text in self._texts.items() if uri in known}
        new = [uri for uri in self._texts if uri not in disabled | self._sent_to_model]
        self._sent_to_model.update(new)
        return tuple(
            TextContext(label=str(known[uri]["customization"]["displayName"]), content=self._texts[uri]) for uri in new
        )

    def forget(self) -> None:
        """Forget which files the model has got, so that all are sent again with the next prompt. Called when turns were
        removed from the chat: the model does not have the files any more that were sent in these turns."""
        self._sent_to_model.clear()


async def _read_markdown(send_request: SendRequest, uri: str) -> str:
    """Return the text of a file, or of all Markdown files in a folder. Raises: RemoteError."""
    try:
        listed = await _request(send_request, ANSWER_SECONDS, "resourceList", uri=uri)
        names = [entry.name for entry in ResourceListing.model_validate(listed).entries if entry.name.endswith(".md")]
        files = [f"{uri.rstrip('/')}/{name}" for name in sorted(names)[:_MAX_FILES]]
    except (RemoteError, ValidationError):
        files = [uri]  # the URI is that of a file, not of a folder
    texts = [(await read(send_request, file))[0] for file in files]
    try:
        return "\n\n".join(text.decode("utf-8") for text in texts)
    except UnicodeDecodeError as error:
        raise RemoteError("it is not text") from error
