"""What the official conformance suite calls by name: registered as anybody's plug is, by an entry point."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer
from tests.fronts.mcp.suite_rounds import PROMPT, ROUNDS
from tests.mcp_client.sdk_server import PIXEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    Any_ = OfferCall[Any]

PNG = base64.b64encode(PIXEL).decode()
WAV = base64.b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data"
    + bytes(4)
).decode()

# A short while, in seconds, that the suite wants between two notifications.
PAUSE = 0.05


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def shown(*content: types.ContentBlock) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))


def text_resource(uri: str, text: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


@offer("test_simple_text", Hints.READS)
async def simple_text(call: Any_) -> types.CallToolResult:
    """Says a sentence."""
    del call
    return said("This is a simple text response for testing.")


@offer("test_image_content", Hints.READS)
async def image_content(call: Any_) -> types.CallToolResult:
    """Shows a pixel."""
    del call
    return shown(types.ImageContent(data=PNG, mime_type="image/png"))


@offer("test_audio_content", Hints.READS)
async def audio_content(call: Any_) -> types.CallToolResult:
    """Plays nothing."""
    del call
    return shown(types.AudioContent(data=WAV, mime_type="audio/wav"))


@offer("test_embedded_resource", Hints.READS)
async def embedded_resource(call: Any_) -> types.CallToolResult:
    """Gives a resource."""
    del call
    return shown(text_resource("test://embedded-resource", "This is an embedded resource content."))


@offer("test_multiple_content_types", Hints.READS)
async def multiple_content_types(call: Any_) -> types.CallToolResult:
    """Gives one of each."""
    del call
    return shown(
        types.TextContent(text="Multiple content types test:"),
        types.ImageContent(data=PNG, mime_type="image/png"),
        text_resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    )


@offer("test_tool_with_logging", Hints.READS)
async def tool_with_logging(call: Any_) -> types.CallToolResult:
    """Logs three times."""
    context = call.caller.context
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        params = types.LoggingMessageNotificationParams(level="info", data=line)
        notification = types.LoggingMessageNotification(params=params)
        await context.session.send_notification(notification, related_request_id=context.request_id)
        await asyncio.sleep(PAUSE)
    return said("Logged.")


@offer("test_error_handling", Hints.READS)
async def error_handling(call: Any_) -> types.CallToolResult:
    """Fails."""
    del call
    raise RefusedCall("This tool intentionally returns an error for testing")


@offer("test_tool_with_progress", Hints.READS)
async def tool_with_progress(call: Any_) -> types.CallToolResult:
    """Gets on."""
    for done in (0, 50, 100):
        await call.caller.report_progress(done, 100)
        await asyncio.sleep(PAUSE)
    return said("Got there.")


@offer("test_sampling", Hints.READS)
async def sampling(call: Any_, prompt: str) -> types.CallToolResult:
    """Has the client's model answer."""
    context = call.caller.context
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        raise RefusedCall("The client has no sampling.")
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    request = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))
    answer = await context.session.send_request(
        request, types.CreateMessageResult, metadata=related(context.request_id)
    )
    return said(f"LLM response: {getattr(answer.content, 'text', '')}")


def related(id: types.RequestId | None) -> Any:
    from mcp.shared.message import ServerMessageMetadata

    return ServerMessageMetadata(related_request_id=id)


async def elicited(call: Any_, message: str, schema: dict[str, Any], words: str) -> types.CallToolResult:
    question = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    answer = await call.caller.ask(question)
    if answer is None:
        raise RefusedCall("The client asks nobody.")
    return said(f"{words}: action={answer.action}, content={json.dumps(answer.content)}")


def object_of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


@offer("test_elicitation", Hints.READS)
async def elicitation(call: Any_, message: Annotated[str, Field(description="What to ask.")]) -> types.CallToolResult:
    """Asks the user."""
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await elicited(call, message, object_of(fields, *fields), "User response")


@offer("test_elicitation_sep1034_defaults", Hints.READS)
async def elicitation_defaults(call: Any_) -> types.CallToolResult:
    """Asks with defaults."""
    fields: dict[str, Any] = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicited(call, "Please check.", object_of(fields), "Elicitation completed")


@offer("test_elicitation_sep1330_enums", Hints.READS)
async def elicitation_enums(call: Any_) -> types.CallToolResult:
    """Asks with choices."""
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    fields: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicited(call, "Please choose.", object_of(fields), "Elicitation completed")


@offer("test_reconnection", Hints.READS)
async def reconnection(call: Any_) -> types.CallToolResult:
    """Would close its stream, if there were a store of events to go on from."""
    del call
    return said("Connected.")


RICH: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


@offer("json_schema_2020_12_tool", Hints.READS, parameters=RICH)
async def json_schema(call: Any_, arguments: dict[str, Any]) -> types.CallToolResult:
    """Has a rich schema."""
    del call
    return said(json.dumps(arguments))


class ResourceShelf:
    TEMPLATE = "test://template/{id}/data"
    FOUND = re.compile(r"test://template/(?P<id>[^/]+)/data")

    async def list(self, backend: Any) -> Sequence[types.Resource]:
        del backend
        kinds = {"static-text": "text/plain", "static-binary": "image/png", "watched-resource": "text/plain"}
        return [
            types.Resource(uri=f"test://{name}", name=name, description=f"The {name}", mime_type=kind)
            for name, kind in kinds.items()
        ]

    def list_templates(self) -> Sequence[types.ResourceTemplate]:
        return [types.ResourceTemplate(uri_template=self.TEMPLATE, name="template", description="By id")]

    async def complete(self, backend: Any, template: str, argument: str) -> Sequence[str]:
        del backend, template, argument
        return ["123"]

    async def read(self, backend: Any, uri: str) -> types.ReadResourceResult | None:
        del backend
        if found := self.FOUND.fullmatch(uri):
            data = {"id": found["id"], "templateTest": True, "data": f"Data for ID: {found['id']}"}
            return self._text(uri, json.dumps(data), "application/json")
        match uri:
            case "test://static-text":
                return self._text(uri, "This is the content of the static text resource.")
            case "test://static-binary":
                blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
                return types.ReadResourceResult(contents=[blob])
            case "test://watched-resource":
                return self._text(uri, "Watched.")
            case _:
                return None

    def _text(self, uri: str, text: str, mime_type: str = "text/plain") -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)])


class Prompts:
    ARGUMENTS: ClassVar[dict[str, tuple[str, ...]]] = {
        "test_simple_prompt": (),
        "test_prompt_with_arguments": ("arg1", "arg2"),
        "test_prompt_with_embedded_resource": ("resourceUri",),
        "test_prompt_with_image": (),
        PROMPT: (),
    }

    async def list(self, backend: Any) -> Sequence[types.Prompt]:
        del backend
        return [
            types.Prompt(
                name=name,
                description=f"The {name}",
                arguments=[types.PromptArgument(name=one, description=one, required=True) for one in arguments],
            )
            for name, arguments in self.ARGUMENTS.items()
        ]

    async def get(
        self, backend: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult | None:
        del backend
        given = params.arguments or {}
        match params.name:
            case "test_simple_prompt":
                return self._says(types.TextContent(text="This is a simple prompt for testing."))
            case "test_prompt_with_arguments":
                text = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
                return self._says(types.TextContent(text=text))
            case "test_prompt_with_embedded_resource":
                return self._says(
                    text_resource(given.get("resourceUri", ""), "Embedded resource content for testing."),
                    types.TextContent(text="Please process the embedded resource above."),
                )
            case "test_prompt_with_image":
                image = types.ImageContent(data=PNG, mime_type="image/png")
                return self._says(image, types.TextContent(text="Please analyze the image above."))
            case _ if params.name == PROMPT:
                return ROUNDS.prompt(params)
            case _:
                return None

    def _says(self, *content: types.ContentBlock) -> types.GetPromptResult:
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in content])


@offer("test_missing_capability", Hints.READS)
async def missing_capability(call: Any_) -> types.CallToolResult:
    """Needs sampling."""
    can = call.caller.context.session.client_capabilities
    if can is None or can.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "The client must have sampling.", data)
    return said("It has it.")


OFFERS = Offers(
    (
        *(simple_text, image_content, audio_content, embedded_resource, multiple_content_types, tool_with_logging),
        *(error_handling, tool_with_progress, sampling, elicitation, elicitation_defaults, elicitation_enums),
        *(reconnection, json_schema, missing_capability, *ROUNDS.offers),
    ),
    (ResourceShelf(),),
    (Prompts(),),
)
