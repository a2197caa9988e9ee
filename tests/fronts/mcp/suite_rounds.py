"""The suite's tools that answer with what they need first (protocol 2026-07-28)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types

from jupyter_eca.fronts.mcp.offers_base import PROMPTS, TOOLS, Hints, Offer, OfferCall, offer

if TYPE_CHECKING:
    from collections.abc import Mapping

    Any_ = OfferCall[Any]
    CallInProgress = types.CallToolResult | types.InputRequiredResult

PROMPT = "test_input_required_result_prompt"


def asks(message: str, **fields: str) -> types.ElicitRequest:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(fields)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def samples(prompt: str, most: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


def needs(state: str | None = None, /, **requests: types.InputRequest) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=dict(requests), request_state=state)


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def given(params: types.InputResponseRequestParams) -> Mapping[str, Any]:
    return params.input_responses or {}


def content(answer: object, field: str) -> Any:
    return (answer.content or {}).get(field) if isinstance(answer, types.ElicitResult) else None


@offer("test_input_required_result_elicitation", Hints.READS)
async def by_elicitation(call: Any_) -> CallInProgress:
    """Asks for a name."""
    name = content(given(call.params).get("user_name"), "name")
    return said(f"Hello, {name}!") if name else needs(user_name=asks("What is your name?", name="string"))


@offer("test_input_required_result_sampling", Hints.READS)
async def by_sampling(call: Any_) -> CallInProgress:
    """Asks the client's model."""
    answer = given(call.params).get("capital_question")
    if isinstance(answer, types.CreateMessageResult):
        return said(str(getattr(answer.content, "text", "")))
    return needs(capital_question=samples("What is the capital of France?"))


@offer("test_input_required_result_list_roots", Hints.READS)
async def by_roots(call: Any_) -> CallInProgress:
    """Asks for the roots."""
    answer = given(call.params).get("client_roots")
    if isinstance(answer, types.ListRootsResult):
        return said(", ".join(str(root.uri) for root in answer.roots))
    return needs(client_roots=types.ListRootsRequest())


@offer("test_input_required_result_request_state", Hints.READS)
async def with_state(call: Any_) -> CallInProgress:
    """Asks, and knows its own state again."""
    if call.params.request_state == "waits" and "confirm" in given(call.params):
        return said("state-ok")
    return needs("waits", confirm=asks("Please confirm", ok="boolean"))


@offer("test_input_required_result_multiple_inputs", Hints.READS)
async def with_several(call: Any_) -> CallInProgress:
    """Asks three things at once."""
    if {"user_name", "greeting", "client_roots"} <= given(call.params).keys():
        return said("All are there.")
    return needs(
        "waits",
        user_name=asks("What is your name?", name="string"),
        greeting=samples("Generate a greeting", 50),
        client_roots=types.ListRootsRequest(),
    )


@offer("test_input_required_result_multi_round", Hints.READS)
async def with_rounds(call: Any_) -> CallInProgress:
    """Asks one thing after the other."""
    state, answers = call.params.request_state, given(call.params)
    if state == "two" and "step2" in answers:
        return said("Both are there.")
    if state == "one" and "step1" in answers:
        return needs("two", step2=asks("Step 2: What is your favorite color?", color="string"))
    return needs("one", step1=asks("Step 1: What is your name?", name="string"))


@offer("test_input_required_result_tampered_state", Hints.READS)
async def with_seal(call: Any_) -> CallInProgress:
    """Asks, with a state that must come back as it was."""
    if call.params.request_state == "sealed":
        return said("It came back.")
    return needs("sealed", confirm=asks("Please confirm", ok="boolean"))


@offer("test_input_required_result_capabilities", Hints.READS)
async def by_capability(call: Any_) -> CallInProgress:
    """Asks what the client can be asked."""
    can = call.caller.context.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, types.InputRequest] = {}
    if can.sampling is not None:
        requests["greeting"] = samples("Generate a greeting", 50)
    if can.elicitation is not None:
        requests["user_name"] = asks("What is your name?", name="string")
    return needs(None, **requests) if requests and not given(call.params) else said("Nothing is needed.")


@offer("test_streaming_elicitation", Hints.READS)
async def streaming(call: Any_) -> CallInProgress:
    """Gets on, then asks."""
    await call.caller.report_progress(1, 2)
    name = content(given(call.params).get("user_name"), "name")
    return said(f"Hello, {name}!") if name else needs(user_name=asks("What is your name?", name="string"))


@offer("test_logging_tool", Hints.READS)
async def logging(call: Any_) -> CallInProgress:
    """Would log, had the client asked for that."""
    del call
    await asyncio.sleep(0)
    return said("Quiet.")


@offer("test_trigger_tool_change", Hints.READS)
async def tools_change(call: Any_) -> CallInProgress:
    """Says that the tools are others."""
    call.notify_change(TOOLS)
    return said("Said.")


@offer("test_trigger_prompt_change", Hints.READS)
async def prompts_change(call: Any_) -> CallInProgress:
    """Says that the prompts are others."""
    call.notify_change(PROMPTS)
    return said("Said.")


HEADED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


@offer("test_x_mcp_header", Hints.READS, parameters=HEADED)
async def headed(call: Any_, arguments: dict[str, Any]) -> CallInProgress:
    """Has an argument that is a header too."""
    del call
    return said(str(arguments.get("region")))


class CallsInProgress:
    offers: tuple[Offer, ...] = (
        *(by_elicitation, by_sampling, by_roots, with_state, with_several, with_rounds, with_seal, by_capability),
        *(streaming, logging, tools_change, prompts_change, headed),
    )

    def prompt(self, params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
        context = content(given(params).get("user_context"), "context")
        if not context:
            return needs(user_context=asks("What context should the prompt use?", context="string"))
        message = types.PromptMessage(role="user", content=types.TextContent(text=f"Use {context}."))
        return types.GetPromptResult(messages=[message])


ROUNDS = CallsInProgress()
