"""Owns the table of all ECA methods: who sends each method, and the models of its parameters and its result.

It must not know how a method is handled. The ECA front, the ECA client and the TypeScript types are made from this
table. `jsonrpc` is its neighbour: it has the messages that carry a method.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from jupyter_eca.protocol import (
    approval,
    changes,
    chat,
    chats,
    command,
    context,
    costs,
    editor,
    job,
    lifecycle,
    mcp,
    notebook,
    provider,
    question,
    rewrite,
    tool,
)
from jupyter_eca.protocol.base import Done, Empty, Model
from jupyter_eca.protocol.jsonrpc import CANCEL


class Sender(StrEnum):
    """The side that sends a method."""

    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the table."""

    name: str
    sender: Sender
    params: type[Model]
    """The model of the parameters."""
    result: type[Model] | None = None
    """The model of the result. None for a notification, `Empty` for a result of null, `Done` for a result of `{}`."""

    def parse(self, params: Any) -> Model:
        """Parse the parameters. Some clients write `null` or `[]` when there are none.

        Raises: pydantic.ValidationError.
        """
        return self.params.model_validate(params or {})


def _index(*rows: Method) -> dict[str, Method]:
    return {row.name: row for row in rows}


C, S = Sender.CLIENT, Sender.SERVER

METHODS: Final = _index(
    Method("initialize", C, lifecycle.InitializeParams, lifecycle.InitializeResult),
    Method("initialized", C, Empty),
    Method("shutdown", C, Empty, Empty),
    Method("exit", C, Empty),
    Method("workspace/didChangeWorkspaceFolders", C, lifecycle.DidChangeWorkspaceFoldersParams),
    Method("$/showMessage", S, lifecycle.ShowMessageParams),
    Method("$/progress", S, lifecycle.ProgressParams),
    Method(CANCEL, S, lifecycle.CancelParams),
    Method("config/updated", S, lifecycle.ConfigUpdatedParams),
    Method("chat/prompt", C, chat.ChatPromptParams, chat.ChatPromptResult),
    Method("chat/promptStop", C, chat.ChatPromptStopParams),
    Method("chat/promptSteer", C, chat.ChatPromptSteerParams),
    Method("chat/promptSteerRemove", C, chat.ChatPromptSteerRemoveParams),
    Method("chat/toolCallApprove", C, chat.ChatToolCallApproveParams),
    Method("chat/toolCallReject", C, chat.ChatToolCallRejectParams),
    Method("chat/toolCallBackground", C, chat.ChatToolCallBackgroundParams, Done),
    Method("chat/toolOutput", C, chat.ChatToolOutputParams, chat.ChatToolOutputResult),
    Method("chat/toolCallProgress", S, chat.ChatToolCallProgressParams),
    Method("chat/selectedModelChanged", C, chat.ChatSelectedModelChangedParams),
    Method("chat/selectedAgentChanged", C, chat.ChatSelectedAgentChangedParams),
    Method("chat/selectedBehaviorChanged", C, chat.ChatSelectedBehaviorChangedParams),
    Method("chat/contentReceived", S, chat.ChatContentReceivedParams),
    Method("chat/askQuestion", S, question.ChatAskQuestionParams, question.ChatAskQuestionResult),
    Method("chat/open", C, chats.ChatOpenParams, chats.ChatOpenResult),
    Method("chat/list", C, chats.ChatListParams, chats.ChatListResult),
    Method("chat/history", C, chats.ChatHistoryParams, chats.ChatHistoryResult),
    Method("chat/clear", C, chats.ChatClearParams, Done),
    Method("chat/delete", C, chats.ChatDeleteParams, Done),
    Method("chat/rollback", C, chats.ChatRollbackParams, Done),
    Method("chat/changes", C, changes.ChatChangesParams, changes.ChatChangesResult),
    Method("chat/revert", C, changes.ChatReviewParams, changes.ChatRevertResult),
    Method("chat/keep", C, changes.ChatReviewParams, Done),
    Method("chat/estimate", C, costs.ChatEstimateParams, costs.ChatEstimateResult),
    Method("chat/costs", C, costs.ChatCostsParams, costs.ChatCostsResult),
    Method("chat/fork", C, chats.ChatForkParams, Done),
    Method("chat/addFlag", C, chats.ChatAddFlagParams, Done),
    Method("chat/removeFlag", C, chats.ChatRemoveFlagParams, Done),
    Method("chat/update", C, chats.ChatUpdateParams, Done),
    Method("chat/statusChanged", S, chats.ChatStatusChangedParams),
    Method("chat/opened", S, chats.ChatOpenedParams),
    Method("chat/cleared", S, chats.ChatClearedParams),
    Method("chat/deleted", S, chats.ChatDeletedParams),
    Method("chat/queryContext", C, context.ChatQueryContextParams, context.ChatQueryContextResult),
    Method("chat/queryFiles", C, context.ChatQueryFilesParams, context.ChatQueryFilesResult),
    Method("chat/queryCommands", C, command.ChatQueryCommandsParams, command.ChatQueryCommandsResult),
    Method("editor/getDiagnostics", S, editor.EditorGetDiagnosticsParams, editor.EditorGetDiagnosticsResult),
    Method("editor/getDefinition", S, editor.EditorGetDefinitionParams, editor.EditorLookupResult),
    Method("editor/getReferences", S, editor.EditorGetReferencesParams, editor.EditorLookupResult),
    Method("rewrite/prompt", C, rewrite.RewritePromptParams, rewrite.RewritePromptResult),
    Method("rewrite/stop", C, rewrite.RewriteStopParams, Done),
    Method("rewrite/contentReceived", S, rewrite.RewriteContentReceivedParams),
    Method("completion/inline", C, rewrite.CompletionInlineParams, rewrite.CompletionInlineResult),
    Method("tool/serverUpdated", S, mcp.ToolServerUpdatedParams),
    Method("tool/serverRemoved", S, mcp.ToolServerRemovedParams),
    Method("tool/lend", C, tool.ToolLendParams, Done),
    Method("tool/call", S, tool.ToolCallParams, tool.ToolCallResult),
    Method("tool/switch", C, tool.ToolSwitchParams, Done),
    Method("approvals/list", C, Empty, approval.ApprovalsListResult),
    Method("approvals/propose", C, approval.ApprovalsProposeParams, approval.ApprovalsProposeResult),
    Method("approvals/add", C, approval.ApprovalsAddParams, approval.ApprovalsAddResult),
    Method("approvals/remove", C, approval.RuleText, Done),
    Method("mcp/startServer", C, mcp.McpServerParams),
    Method("mcp/stopServer", C, mcp.McpServerParams),
    Method("mcp/connectServer", C, mcp.McpServerParams),
    Method("mcp/logoutServer", C, mcp.McpServerParams),
    Method("mcp/disableServer", C, mcp.McpServerParams),
    Method("mcp/enableServer", C, mcp.McpServerParams),
    Method("mcp/updateServer", C, mcp.McpUpdateServerParams, Done),
    Method("mcp/addServer", C, mcp.McpAddServerParams, mcp.McpAddServerResult),
    Method("mcp/removeServer", C, mcp.McpServerParams, mcp.McpRemoveServerResult),
    Method("mcp/serverLog", C, mcp.McpServerParams, mcp.McpServerLogResult),
    Method("providers/list", C, Empty, provider.ProvidersListResult),
    Method("providers/login", C, provider.ProvidersLoginParams, provider.LoginStep),
    Method("providers/loginInput", C, provider.ProvidersLoginInputParams, provider.LoginStep),
    Method("providers/logout", C, provider.ProviderParams, Done),
    Method("providers/updated", S, provider.ProviderStatus),
    Method("jobs/list", C, Empty, job.JobsListResult),
    Method("jobs/kill", C, job.JobParams, job.JobsKillResult),
    Method("jobs/readOutput", C, job.JobParams, job.JobsReadOutputResult),
    Method("jobs/updated", S, job.JobsListResult),
    Method("kernel/execute", S, notebook.KernelExecuteParams, notebook.KernelExecuteResult),
    Method("kernel/variables", S, notebook.KernelVariablesParams, notebook.KernelVariablesResult),
    Method("notebook/list", S, Empty, notebook.NotebookListResult),
    Method("notebook/read", S, notebook.NotebookReadParams, notebook.NotebookDocument),
    Method("notebook/edit", S, notebook.NotebookEditParams, notebook.NotebookDocument),
    Method("notebook/run", S, notebook.NotebookRunParams, notebook.NotebookRunResult),
    Method("notebook/runProgress", C, notebook.NotebookRunProgressParams),
    Method("notebook/open", S, notebook.NotebookOpenParams, Done),
    Method("workspace/doctor", C, Empty, lifecycle.DoctorResult),
    Method("workspace/trust", C, lifecycle.TrustParams, Done),
    Method("workspace/untrustedSettings", S, lifecycle.UntrustedSettingsParams),
)
