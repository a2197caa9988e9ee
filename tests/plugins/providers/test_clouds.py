"""Claude at the clouds of Amazon and Google: the recordings of the Messages API, in the frames of each cloud."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, ProviderConfig
from jupyter_eca.engine.model.delta import Delta
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers import bedrock, vertex
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.connection import sdk_clients
from tests.plugins.providers.ask import answer, asking
from tests.plugins.providers.test_streams import fits, told
from tests.support.anthropic_server import Fault, Recorded
from tests.support.openai_server import LoopbackOpenAI, Stream, recording

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.asyncio

BEDROCK = "anthropic.claude-sonnet-4-5-20250929-v1:0"
VERTEX = "claude-sonnet-4-5@20250929"
TOKEN = "a-cloud-token"  # noqa: S105  # not a real one

# Text, calls, thoughts and an error.
RECORDED = (
    "text_comes_in_pieces",
    "arguments_come_whole_in_the_start_of_a_call",
    "thoughts_are_signed",
    "an_error_comes_in_the_stream",
)


@pytest.fixture(autouse=True)
def _no_account_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.setenv(name, "/no/such/file")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.auth")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    monkeypatch.setenv("CLOUD_ML_REGION", "europe-west1")


def find_nothing(_package: str) -> object:
    return None


def find_anything(_package: str) -> object:
    return object()


def make_frame(payload: bytes, **headers: str) -> bytes:
    """A message of Amazon's event stream: lengths, headers, payload, and two checksums."""
    packed = b"".join(
        struct.pack(f">B{len(name)}sBH{len(value)}s", len(name), name.encode(), 7, len(value), value.encode())
        for name, value in ((f":{name.replace('_', '-')}", value) for name, value in headers.items())
    )
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + packed + payload
    return message + struct.pack(">I", zlib.crc32(message))


def make_chunk(event: Any) -> bytes:
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    return make_frame(payload, event_type="chunk", content_type="application/json", message_type="event")


def make_exception(kind: str, said: str) -> bytes:
    payload = json.dumps({"message": said}).encode()
    return make_frame(payload, exception_type=kind, content_type="application/json", message_type="exception")


class LoopbackBedrock(LoopbackOpenAI):
    """`ends` are the bytes after the recording."""

    def __init__(self, stream: Stream, faults: Iterable[Fault | None] = (), ends: bytes = b"") -> None:
        super().__init__([stream], faults)
        self._frames = b"".join(make_chunk(event) for event in stream.events) + ends

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        fault, _ = super().answered(asked)
        return fault, () if fault.status != 200 else [(0.0, self._frames[:7]), (0.0, self._frames[7:])]


def at(server: LoopbackOpenAI, **settings: Any) -> ProviderConfig:
    return ProviderConfig.model_validate({"url": server.url, "key": TOKEN} | settings)


async def check_answer(model: str, settings: ProviderConfig, provider: Any, expected: dict[str, Any]) -> None:
    deltas, error = list[Delta](), None
    try:
        await answer(asking("hi", model=model), settings, provider, deltas)
    except ProviderError as raised:
        error = raised
    said = json.loads(json.dumps(expected["says"]).replace("anthropic/m#", f"{model}#"))
    assert fits(told(deltas), said), told(deltas)
    assert (error is None) == ("error" not in expected), error
    if error is not None:
        assert expected["error"]["words"] in str(error)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("name", RECORDED)
async def test_the_recordings_are_understood_in_the_frames_of_amazon(name: str) -> None:
    stream, expected = recording("anthropic", name)
    with LoopbackBedrock(stream) as server:
        await check_answer(f"bedrock/{BEDROCK}", at(server), bedrock.PROVIDER, expected)
        (asked,) = server.requests
    assert asked.path.replace("%3A", ":") == f"/model/{BEDROCK}/invoke-with-response-stream"
    assert asked.key == TOKEN
    assert "model" not in asked.body


@pytest.mark.usefixtures("google")
@pytest.mark.parametrize("name", RECORDED)
async def test_the_recordings_are_understood_at_google(name: str) -> None:
    stream, expected = recording("anthropic", name)
    with LoopbackOpenAI([stream]) as server:
        await check_answer(f"vertex/{VERTEX}", at(server), vertex.PROVIDER, expected)
        (asked,) = server.requests
    folder = "/projects/my-project/locations/europe-west1/publishers/anthropic/models/"
    assert asked.path.replace("%40", "@") == f"{folder}{VERTEX}:streamRawPredict"
    assert asked.key == TOKEN


@pytest.mark.usefixtures("aws")
async def test_an_exception_of_amazon_in_the_stream_is_an_error_that_is_tried_again() -> None:
    stream, _ = recording("anthropic", "text_comes_in_pieces")
    begun = Stream(stream.events[:1])
    with (
        LoopbackBedrock(begun, ends=make_exception("throttlingException", "Too many tokens")) as server,
        pytest.raises(ProviderError) as caught,
    ):
        await answer(asking("hi", model=f"bedrock/{BEDROCK}"), at(server), bedrock.PROVIDER)
    assert caught.value.retryable


@pytest.mark.usefixtures("aws")
async def test_a_key_that_amazon_refuses_is_said_to_be_refused() -> None:
    stream, _ = recording("anthropic", "text_comes_in_pieces")
    refused = Fault(403, '{"message": "Authentication failed"}', plain=True)
    with LoopbackBedrock(stream, [refused]) as server, pytest.raises(ProviderError) as caught:
        await answer(asking("hi", model=f"bedrock/{BEDROCK}"), at(server), bedrock.PROVIDER)
    assert caught.value.kind is FailureKind.AUTH
    assert TOKEN not in str(caught.value)


@pytest.mark.usefixtures("aws")
async def test_the_credentials_of_the_aws_tools_sign_a_request_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    stream, _ = recording("anthropic", "text_comes_in_pieces")
    with LoopbackBedrock(stream) as server:
        await answer(asking("hi", model=f"bedrock/{BEDROCK}"), at(server, key=None), bedrock.PROVIDER)
        signed = server.requests[0].headers["authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/bedrock/aws4_request" in signed


@pytest.mark.usefixtures("aws")
async def test_without_credentials_of_the_aws_tools_the_error_names_the_command() -> None:
    with pytest.raises(ProviderError, match="aws sso login") as caught:
        await answer(asking("hi", model=f"bedrock/{BEDROCK}"), ProviderConfig(), bedrock.PROVIDER)
    assert caught.value.kind is FailureKind.AUTH


@pytest.mark.parametrize(
    ("provider", "extra"), [(bedrock.PROVIDER, "bedrock"), (vertex.PROVIDER, "vertex")], ids=["bedrock", "vertex"]
)
async def test_a_missing_extra_is_named_with_its_command(
    provider: Any, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_clients, "find_spec", find_nothing)
    with pytest.raises(ProviderError, match=rf'pip install "jupyter-eca\[{extra}\]"'):
        await answer(asking("hi", model=f"{extra}/m"), ProviderConfig(), provider)


async def test_without_a_region_the_error_names_the_variable() -> None:
    pytest.importorskip("boto3")
    with pytest.raises(ProviderError, match="AWS_REGION"):
        await answer(asking("hi", model="bedrock/m"), ProviderConfig(), bedrock.PROVIDER)


async def test_without_google_credentials_the_error_names_the_command() -> None:
    pytest.importorskip("google.auth")
    with pytest.raises(ProviderError, match="gcloud auth application-default login"):
        await answer(asking("hi", model="vertex/m"), ProviderConfig(), vertex.PROVIDER)


@pytest.mark.parametrize("provider", [bedrock.PROVIDER, vertex.PROVIDER], ids=["bedrock", "vertex"])
@pytest.mark.parametrize("key", [None, "", " "])
async def test_a_project_that_sets_the_address_does_not_get_the_credentials(
    provider: Any, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_clients, "find_spec", find_anything)
    settings = ProviderConfig.model_validate({"url": "https://evil.example", "foreign_address": True, "key": key})
    with pytest.raises(ProviderError, match="not sent there"):
        await answer(asking("hi", model=f"{provider.name}/m"), settings, provider)


async def test_the_models_of_the_clouds_are_those_of_the_configuration_and_think() -> None:
    plugs: dict[str, Any] = {"bedrock": bedrock.PROVIDER, "vertex": vertex.PROVIDER}
    assert await Catalog(plugs, Config()).models() == ()
    among = Catalog(plugs, Config.model_validate({"providers": {"bedrock": {"models": {BEDROCK: None}}}}))
    assert await among.models() == (f"bedrock/{BEDROCK}",)
    assert among.variants(f"bedrock/{BEDROCK}") == ("low", "medium", "high")
    chosen = among.choose(f"bedrock/{BEDROCK}", thinks=True)
    assert chosen.settings.get_payload(BEDROCK)["thinking"]["type"] == "enabled"
