"""THE table: every method we speak, who sends it, and its models. Fronts, client and TypeScript are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from jupyter_eca.protocol import chat, lifecycle, notebook
from jupyter_eca.protocol.base import Empty, Model


class Sender(StrEnum):
    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Method:
    """`result` is None for a notification. A request whose result is `Empty` answers null."""

    name: str
    sender: Sender
    params: type[Model]
    result: type[Model] | None = None

    def parse(self, params: Any) -> Model:
        """`null` and `[]` are how some clients write "no parameters".

        Raises: pydantic.ValidationError.
        """
        return self.params.model_validate(params or {})


def _table(*rows: Method) -> dict[str, Method]:
    return {row.name: row for row in rows}


C, S = Sender.CLIENT, Sender.SERVER

METHODS: Final = _table(
    Method("initialize", C, lifecycle.InitializeParams, lifecycle.InitializeResult),
    Method("initialized", C, Empty),
    Method("shutdown", C, Empty, Empty),
    Method("exit", C, Empty),
    Method("$/showMessage", S, lifecycle.ShowMessageParams),
    Method("$/progress", S, lifecycle.ProgressParams),
    Method("config/updated", S, lifecycle.ConfigUpdatedParams),
    Method("tool/serverUpdated", S, lifecycle.NativeServerUpdatedParams),
    Method("chat/prompt", C, chat.ChatPromptParams, chat.ChatPromptResult),
    Method("chat/promptStop", C, chat.ChatPromptStopParams),
    Method("chat/toolCallApprove", C, chat.ChatToolCallApproveParams),
    Method("chat/toolCallReject", C, chat.ChatToolCallRejectParams),
    Method("chat/open", C, chat.ChatOpenParams, chat.ChatOpenResult),
    Method("chat/list", C, chat.ChatListParams, chat.ChatListResult),
    Method("chat/selectedModelChanged", C, chat.ChatSelectedModelChangedParams),
    Method("chat/selectedAgentChanged", C, chat.ChatSelectedAgentChangedParams),
    Method("chat/selectedBehaviorChanged", C, chat.ChatSelectedBehaviorChangedParams),
    Method("chat/contentReceived", S, chat.ChatContentReceivedParams),
    Method("chat/statusChanged", S, chat.ChatStatusChangedParams),
    Method("chat/opened", S, chat.ChatOpenedParams),
    Method("chat/cleared", S, chat.ChatClearedParams),
    Method("kernel/execute", S, notebook.KernelExecuteParams, notebook.KernelExecuteResult),
    Method("kernel/variables", S, notebook.KernelVariablesParams, notebook.KernelVariablesResult),
    Method("workspace/doctor", C, Empty, lifecycle.DoctorResult),
)
