"""Owns the table of all methods of ECA: who sends each method, and the models of its parameters and its result.

ECA is the JSON-RPC protocol that our clients speak: editors, the panel and the cells. This module must not know how a
method is handled. The ECA front, the ECA client and the TypeScript types are made from this table. `jsonrpc` is its
neighbour: it has the messages that carry a method.
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
    cursor_help,
    editor,
    job,
    lifecycle,
    mcp,
    notebook,
    provider,
    question,
    tool,
)
from jupyter_eca.protocol.base import Done, Empty, Model
from jupyter_eca.protocol.jsonrpc import CANCEL
from jupyter_eca.protocol.settings import own_files


class Sender(StrEnum):
    """The side that sends a method."""

    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the table."""

    name: str
    """The name of the method on the wire."""
    sender: Sender
    """The side that sends it."""
    params: type[Model]
    """The model of the parameters."""
    result: type[Model] | None = None
    """The model of the result. None for a notification, `Empty` for a result of null, `Done` for a result of `{}`."""

    def parse(self, params: Any) -> Model:
        """Parse the parameters. Some clients write `null` or `[]` when there are none.

        Raises: pydantic.ValidationError.
        """
        return self.params.model_validate(params or {})


def _index_by_name(*rows: Method) -> dict[str, Method]:
    """Return the methods by their names."""
    return {row.name: row for row in rows}


CLIENT, SERVER = Sender.CLIENT, Sender.SERVER

METHODS: Final = _index_by_name(
    Method("initialize", CLIENT, lifecycle.InitializeParams, lifecycle.InitializeResult),
    Method("initialized", CLIENT, Empty),
    Method("shutdown", CLIENT, Empty, Empty),
    Method("exit", CLIENT, Empty),
    Method("workspace/didChangeWorkspaceFolders", CLIENT, lifecycle.DidChangeWorkspaceFoldersParams),
    Method("$/showMessage", SERVER, lifecycle.ShowMessageParams),
    Method("$/progress", SERVER, lifecycle.ProgressParams),
    Method(CANCEL, SERVER, lifecycle.CancelParams),
    Method("config/updated", SERVER, lifecycle.ConfigUpdatedParams),
    Method("config/defaults", CLIENT, Empty, lifecycle.ConfigDefaultsResult),
    Method("config/setDefault", CLIENT, lifecycle.ConfigSetDefaultParams, lifecycle.ConfigDefaultsResult),
    Method("chat/prompt", CLIENT, chat.ChatPromptParams, chat.ChatPromptResult),
    Method("chat/promptStop", CLIENT, chat.ChatPromptStopParams),
    Method("chat/promptSteer", CLIENT, chat.ChatPromptSteerParams),
    Method("chat/promptSteerRemove", CLIENT, chat.ChatPromptSteerRemoveParams),
    Method("chat/toolCallApprove", CLIENT, chat.ChatToolCallApproveParams),
    # Asks what a waiting tool call would change without the parts that the user leaves out.
    Method("chat/remainingChange", CLIENT, chat.ChatRemainingChangeParams, chat.ChatRemainingChangeResult),
    Method("chat/toolCallReject", CLIENT, chat.ChatToolCallRejectParams),
    Method("chat/toolCallBackground", CLIENT, chat.ChatToolCallBackgroundParams, Done),
    Method("chat/toolOutput", CLIENT, chat.ChatToolOutputParams, chat.ChatToolOutputResult),
    Method("chat/toolCallProgress", SERVER, chat.ChatToolCallProgressParams),
    Method("chat/selectedModelChanged", CLIENT, chat.ChatSelectedModelChangedParams),
    Method("chat/selectedAgentChanged", CLIENT, chat.ChatSelectedAgentChangedParams),
    Method("chat/selectedOptionChanged", CLIENT, chat.ChatSelectedOptionChangedParams),
    Method("chat/selectedBehaviorChanged", CLIENT, chat.ChatSelectedBehaviorChangedParams),
    Method("chat/selection", CLIENT, chats.ChatSelectionParams, chats.ChatSelection),
    Method("chat/contentReceived", SERVER, chat.ChatContentReceivedParams),
    Method("chat/askQuestion", SERVER, question.ChatAskQuestionParams, question.ChatAskQuestionResult),
    Method("chat/open", CLIENT, chats.ChatOpenParams, chats.ChatOpenResult),
    Method("chat/list", CLIENT, chats.ChatListParams, chats.ChatListResult),
    Method("chat/history", CLIENT, chats.ChatHistoryParams, chats.ChatHistoryResult),
    Method("chat/clear", CLIENT, chats.ChatClearParams, Done),
    Method("chat/delete", CLIENT, chats.ChatDeleteParams, Done),
    Method("chat/restore", CLIENT, chats.ChatRestoreParams, Done),
    Method("chat/rollback", CLIENT, chats.ChatRollbackParams, Done),
    Method("chat/changes", CLIENT, changes.ChatChangesParams, changes.ChatChangesResult),
    Method("chat/revert", CLIENT, changes.ChatReviewParams, changes.ChatRevertResult),
    Method("chat/keep", CLIENT, changes.ChatReviewParams, Done),
    Method("chat/estimate", CLIENT, costs.ChatEstimateParams, costs.ChatEstimateResult),
    Method("chat/costs", CLIENT, costs.ChatCostsParams, costs.ChatCostsResult),
    Method("chat/fork", CLIENT, chats.ChatForkParams, Done),
    Method("chat/addFlag", CLIENT, chats.ChatAddFlagParams, Done),
    Method("chat/removeFlag", CLIENT, chats.ChatRemoveFlagParams, Done),
    Method("chat/rateAnswer", CLIENT, chats.ChatRateAnswerParams, Done),
    Method("chat/update", CLIENT, chats.ChatUpdateParams, Done),
    Method("chat/statusChanged", SERVER, chats.ChatStatusChangedParams),
    Method("chat/opened", SERVER, chats.ChatOpenedParams),
    Method("chat/cleared", SERVER, chats.ChatClearedParams),
    Method("chat/deleted", SERVER, chats.ChatDeletedParams),
    Method("chat/queryContext", CLIENT, context.ChatQueryContextParams, context.ChatQueryContextResult),
    Method("chat/queryFiles", CLIENT, context.ChatQueryFilesParams, context.ChatQueryFilesResult),
    Method("chat/queryCommands", CLIENT, command.ChatQueryCommandsParams, command.ChatQueryCommandsResult),
    Method("editor/getDiagnostics", SERVER, editor.EditorGetDiagnosticsParams, editor.EditorGetDiagnosticsResult),
    Method("editor/getDefinition", SERVER, editor.EditorGetDefinitionParams, editor.EditorLookupResult),
    Method("editor/getReferences", SERVER, editor.EditorGetReferencesParams, editor.EditorLookupResult),
    Method("rewrite/prompt", CLIENT, cursor_help.RewritePromptParams, cursor_help.RewritePromptResult),
    Method("rewrite/stop", CLIENT, cursor_help.RewriteStopParams, Done),
    Method("rewrite/contentReceived", SERVER, cursor_help.RewriteContentReceivedParams),
    Method("completion/inline", CLIENT, cursor_help.CompletionInlineParams, cursor_help.CompletionInlineResult),
    Method("tool/serverUpdated", SERVER, mcp.ToolServerUpdatedParams),
    Method("tool/serverRemoved", SERVER, mcp.ToolServerRemovedParams),
    # The client offers tools of its own to the model, such as Python functions in a notebook. `tool/call` runs one.
    Method("tool/lend", CLIENT, tool.ToolLendParams, Done),
    Method("tool/call", SERVER, tool.ToolCallParams, tool.ToolCallResult),
    # Switches a tool on or off.
    Method("tool/switch", CLIENT, tool.ToolSwitchParams, Done),
    Method("agents/list", CLIENT, Empty, own_files.AgentsListResult),
    Method("agents/write", CLIENT, own_files.AgentsWriteParams, own_files.WrittenFile),
    Method("agents/remove", CLIENT, own_files.SeenFile, Done),
    Method("skills/list", CLIENT, Empty, own_files.SkillsListResult),
    Method("skills/preview", CLIENT, own_files.SkillsPreviewParams, own_files.SkillsPreviewResult),
    Method("skills/write", CLIENT, own_files.SkillsWriteParams, own_files.WrittenFile),
    Method("skills/remove", CLIENT, own_files.SeenFile, Done),
    Method("ownFiles/read", CLIENT, own_files.OwnFilesReadParams, own_files.OwnFile),
    Method("ownFiles/write", CLIENT, own_files.OwnFilesWriteParams, own_files.OwnFile),
    Method("approvals/list", CLIENT, Empty, approval.ApprovalsListResult),
    Method("approvals/propose", CLIENT, approval.ApprovalsProposeParams, approval.ApprovalsProposeResult),
    Method("approvals/try", CLIENT, approval.ApprovalsTryParams, approval.ApprovalsTryResult),
    Method("approvals/add", CLIENT, approval.ApprovalsAddParams, approval.ApprovalsAddResult),
    Method("approvals/replace", CLIENT, approval.ApprovalsReplaceParams, approval.ApprovalsAddResult),
    Method("approvals/remove", CLIENT, approval.RuleText, Done),
    Method("mcp/startServer", CLIENT, mcp.McpServerParams),
    Method("mcp/stopServer", CLIENT, mcp.McpServerParams),
    Method("mcp/connectServer", CLIENT, mcp.McpServerParams),
    Method("mcp/logoutServer", CLIENT, mcp.McpServerParams),
    Method("mcp/disableServer", CLIENT, mcp.McpServerParams),
    Method("mcp/enableServer", CLIENT, mcp.McpServerParams),
    Method("mcp/updateServer", CLIENT, mcp.McpUpdateServerParams, Done),
    Method("mcp/addServer", CLIENT, mcp.McpAddServerParams, mcp.McpAddServerResult),
    Method("mcp/removeServer", CLIENT, mcp.McpServerParams, mcp.McpRemoveServerResult),
    Method("mcp/serverLog", CLIENT, mcp.McpServerParams, mcp.McpServerLogResult),
    Method("mcp/serverFiles", CLIENT, Empty, mcp.McpServerFilesResult),
    Method("providers/list", CLIENT, Empty, provider.ProvidersListResult),
    Method("providers/login", CLIENT, provider.ProvidersLoginParams, provider.LoginStep),
    Method("providers/loginInput", CLIENT, provider.ProvidersLoginInputParams, provider.LoginStep),
    Method("providers/try", CLIENT, provider.ProviderParams, provider.ProvidersTryResult),
    Method("providers/logout", CLIENT, provider.ProviderParams, Done),
    Method("providers/updated", SERVER, provider.ProviderStatus),
    Method("jobs/list", CLIENT, Empty, job.JobsListResult),
    Method("jobs/kill", CLIENT, job.JobParams, job.JobsKillResult),
    Method("jobs/readOutput", CLIENT, job.JobParams, job.JobsReadOutputResult),
    Method("jobs/updated", SERVER, job.JobsListResult),
    Method("kernel/execute", SERVER, notebook.KernelExecuteParams, notebook.KernelExecuteResult),
    Method("kernel/variables", SERVER, notebook.KernelVariablesParams, notebook.KernelVariablesResult),
    Method("notebook/list", SERVER, Empty, notebook.NotebookListResult),
    Method("notebook/read", SERVER, notebook.NotebookReadParams, notebook.NotebookDocument),
    Method("notebook/readOutputs", SERVER, notebook.NotebookReadOutputsParams, notebook.NotebookReadOutputsResult),
    Method("notebook/edit", SERVER, notebook.NotebookEditParams, notebook.NotebookDocument),
    Method("notebook/run", SERVER, notebook.NotebookRunParams, notebook.NotebookRunResult),
    Method("notebook/runProgress", CLIENT, notebook.NotebookRunProgressParams),
    Method("notebook/open", SERVER, notebook.NotebookOpenParams, Done),
    Method("workspace/doctor", CLIENT, Empty, lifecycle.DoctorResult),
    Method("workspace/trust", CLIENT, lifecycle.TrustParams, Done),
    Method("workspace/untrustedSettings", SERVER, lifecycle.UntrustedSettingsParams),
)
