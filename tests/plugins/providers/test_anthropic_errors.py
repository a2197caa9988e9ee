"""What goes wrong with Anthropic's API, and what the reader is told."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import traceback
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers.anthropic import PROVIDER, AnthropicProvider
from jupyter_eca.plugins.providers.connection import failures
from jupyter_eca.plugins.providers.connection.sdk_clients import TimeLimits
from tests.plugins.providers.ask import KEY, answer, at, says, script, text_of
from tests.support.anthropic_server import Fault, LoopbackAnthropic

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.plugins.providers.base import Provider


async def failure_of(fault: Fault, provider: Provider = PROVIDER, into: list[Delta] | None = None) -> ProviderError:
    with LoopbackAnthropic(says("Hello."), [fault]) as server, pytest.raises(ProviderError) as caught:
        await answer("hi", at(server), provider, into)
    return caught.value


async def failure_at(url: str, provider: Provider = PROVIDER) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer("hi", ProviderConfig.model_validate({"url": url, "key": KEY}), provider)
    return caught.value


@pytest.mark.parametrize(
    ("status", "says_what_to_do", "retryable"),
    [
        (400, "Start a new chat", False),
        (401, "Check `providers.anthropic.key`", False),
        (403, "Use another key", False),
        (404, "has no model 'claude-sonnet-5-5'", False),
        (413, "Start a new one", False),
        (429, "Wait a little", True),
        (500, "Ask again", True),
        (529, "Ask again in a minute", True),
    ],
)
@pytest.mark.asyncio
async def test_a_refused_request_says_what_to_do(status: int, says_what_to_do: str, retryable: bool) -> None:
    error = await failure_of(Fault(status, "the server's words"))
    assert says_what_to_do in str(error)
    assert (error.status, error.retryable) == (status, retryable)


@pytest.mark.asyncio
async def test_a_bad_request_shows_what_the_server_said() -> None:
    assert "refused the request: tools.0: too odd. Start" in str(await failure_of(Fault(400, "tools.0: too odd.")))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(401), FailureKind.AUTH),
        (Fault(402), FailureKind.QUOTA),
        (Fault(413), FailureKind.CONTEXT),
        (Fault(400, "prompt is too long: 2000000 tokens"), FailureKind.CONTEXT),
        (Fault(400, "messages.0.content.1.image: Could not process image"), FailureKind.IMAGE),
        (Fault(429), FailureKind.RATE_LIMITED),
        (Fault(529), FailureKind.OVERLOADED),
        (Fault(500), FailureKind.OTHER),
        (Fault(cut=700), FailureKind.PREMATURE),
    ],
)
@pytest.mark.asyncio
async def test_a_failure_has_a_kind(fault: Fault, kind: FailureKind) -> None:
    assert (await failure_of(fault)).kind is kind


@pytest.mark.asyncio
async def test_a_chat_that_is_too_long_is_told_apart_from_other_bad_requests() -> None:
    error = await failure_of(Fault(400, "prompt is too long: 2000000 tokens > 1000000 maximum"))
    assert "no longer fits" in str(error)


@pytest.mark.asyncio
async def test_the_server_says_when_to_ask_again() -> None:
    assert (await failure_of(Fault(429, headers={"Retry-After": "7"}))).retry_after == 7


@pytest.mark.asyncio
async def test_the_reader_is_told_when_it_takes_long() -> None:
    assert "again in 60 min" in str(await failure_of(Fault(429, headers={"Retry-After": "3600"})))


@pytest.mark.asyncio
async def test_the_server_may_say_that_asking_again_is_no_use() -> None:
    assert not (await failure_of(Fault(429, headers={"X-Should-Retry": "false"}))).retryable


@pytest.mark.asyncio
async def test_an_address_that_is_not_the_api_is_told_apart_from_an_unknown_model() -> None:
    assert "does not speak" in str(await failure_of(Fault(404, "404 page not found", plain=True)))


@pytest.mark.asyncio
async def test_a_page_in_place_of_events_is_not_the_api() -> None:
    assert "does not speak" in str(await failure_of(Fault(200, "<html>Log in", plain=True)))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.asyncio
async def test_a_redirect_leads_neither_the_key_nor_the_chat_to_another_address(status: int) -> None:
    with LoopbackAnthropic(says("Hello.")) as other:
        location = {"Location": f"{other.url.replace('//', '//name:word@')}/v1/messages?token=x"}
        error = await failure_of(Fault(status, headers=location))
    assert other.requests == []
    assert f"leads elsewhere (status {status}), which is not followed: {other.url}/v1/messages." in str(error)
    assert not error.retryable


@pytest.mark.asyncio
async def test_without_a_key_nothing_is_asked() -> None:
    with pytest.raises(ProviderError, match="Set ANTHROPIC_API_KEY"):
        await answer("hi", ProviderConfig())


@pytest.mark.asyncio
async def test_a_server_that_wants_a_key_is_told_apart_from_one_that_refuses_it() -> None:
    with LoopbackAnthropic(says("Hello."), [Fault(401, "no")]) as server, pytest.raises(ProviderError) as caught:
        await answer("hi", at(server, key=None))
    assert "wants a key" in str(caught.value)


@pytest.mark.asyncio
async def test_the_key_is_in_no_error_even_if_the_server_repeats_it() -> None:
    error = await failure_of(Fault(400, f"you sent {KEY}"))
    shown = "".join(traceback.format_exception(error)) + repr(error)
    assert "you sent …" in shown
    assert KEY not in shown


@pytest.mark.asyncio
async def test_a_key_with_a_line_break_in_it_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ProviderError, match="Copy") as caught:
        await answer("hi", ProviderConfig.model_validate({"key": f"{KEY}\n{KEY}"}))
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_the_key_is_in_no_repr() -> None:
    settings = ProviderConfig.model_validate({"key": KEY})
    asked = failures.RequestTarget("anthropic", "m", "https://x", KEY)
    assert KEY not in f"{settings!r} {settings.model_dump()} {asked!r}"


def test_a_password_in_an_address_is_not_shown() -> None:
    error = failures.explain_disconnect(
        failures.RequestTarget("p", "m", "https://me:secret@host:8080/base/?token=secret")
    )
    assert "https://host:8080/base closed" in str(error)


@pytest.mark.asyncio
async def test_a_server_that_is_down_is_named() -> None:
    error = await failure_at("http://127.0.0.1:1")
    assert "Nothing answers at http://127.0.0.1:1" in str(error)


@pytest.mark.asyncio
async def test_a_server_on_this_machine_that_is_down_is_not_asked_again() -> None:
    assert not (await failure_at("http://127.0.0.1:1")).retryable


@pytest.mark.asyncio
async def test_a_name_that_is_not_found_is_named() -> None:
    error = await failure_at("http://nowhere.invalid")
    assert "http://nowhere.invalid cannot be found" in str(error)
    assert error.retryable


@pytest.mark.asyncio
async def test_a_server_without_tls_is_named() -> None:
    async def answer_plainly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer_plainly, "127.0.0.1", 0) as server:
        error = await failure_at(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert "does not speak TLS" in str(error)


def test_a_certificate_that_is_not_trusted_is_not_tried_again() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "self-signed")
    untrusted.verify_message = "self-signed certificate"
    error = failures.explain_unreachable(failures.RequestTarget("p", "m", "https://host"), untrusted)
    assert "self-signed certificate" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("url", ["127.0.0.1:1", "ftp://host", "http://[bad", "http://host:port"])
@pytest.mark.asyncio
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    assert "`providers.anthropic.url` is no address" in str(await failure_at(url))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse where Linux drops")
@pytest.mark.asyncio
async def test_a_server_that_never_accepts_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        impatient = AnthropicProvider(time_limits=TimeLimits(connect_seconds=0.2))
        error = await failure_at(f"http://127.0.0.1:{full.getsockname()[1]}", impatient)
    assert "could not be reached in 0.2 s" in str(error)
    assert error.retryable


@pytest.mark.parametrize("stall", [0, 600])
@pytest.mark.asyncio
async def test_a_stream_that_falls_silent_is_given_up(stall: int) -> None:
    error = await failure_of(Fault(stall=stall), AnthropicProvider(time_limits=TimeLimits(idle_seconds=0.2)))
    assert "said nothing for 0.2 s" in str(error)
    assert error.retryable


@pytest.mark.parametrize("cut", [0, 50, 700])
@pytest.mark.asyncio
async def test_a_connection_that_dies_breaks_the_answer_off(cut: int) -> None:
    error = await failure_of(Fault(cut=cut))
    assert "The answer broke off" in str(error)
    assert error.retryable


@pytest.mark.asyncio
async def test_what_was_said_before_the_end_of_a_dead_connection_is_kept() -> None:
    said: list[Delta] = []
    await failure_of(Fault(cut=700), into=said)
    assert text_of(said) == "Hello."


@pytest.mark.asyncio
async def test_a_stream_without_its_last_event_broke_off() -> None:
    error = await failure_of(Fault(events=({"type": "message_start"},)))
    assert "The answer broke off" in str(error)
    assert error.retryable


@pytest.mark.asyncio
async def test_an_error_in_mid_stream_is_as_good_as_its_status() -> None:
    reply = [{"text": "Hello."}, {"error": "Overloaded", "status": 529}]
    said: list[Delta] = []
    with LoopbackAnthropic(script({"message": "", "reply": reply})) as server, pytest.raises(ProviderError) as caught:
        await answer("hi", at(server), into=said)
    assert (caught.value.status, caught.value.retryable, text_of(said)) == (529, True, "Hello.")
