"""Builds the `ToolContext` that a chat's tools run with, and the `Surroundings` that its contexts are read from. Each
has the files, notebooks, kernels and other things that the chat may use. A context is what a prompt mentions, such as
`@data.csv`.

It must not decide whether a tool runs. `host.turn.setup` lists the tools, and `host.turn.effect_runner` runs them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.config.schema import SandboxMode
from jupyter_eca.engine.model.task_plan import Plan
from jupyter_eca.host.checkpoints.checkpoints import CallCheckpointer
from jupyter_eca.host.store import ReviewState
from jupyter_eca.host.subscribers import ChatQuestions
from jupyter_eca.host.tools.chat_previews import ChatPreviews
from jupyter_eca.host.tools.kept_outputs import ChatOutputs
from jupyter_eca.host.turn.open_notebooks import find_active_notebook, find_kernels, find_notebooks
from jupyter_eca.host.turn.path_rules import ChatPathRules
from jupyter_eca.instructions.rules import CATALOGUE
from jupyter_eca.instructions.skills import SkillRegistry
from jupyter_eca.plugins.contexts.base import Surroundings
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.jobs.sandbox import make_sandbox
from jupyter_eca.workspace.known_versions import KnownVersions
from jupyter_eca.workspace.ports import ExecutionMemory, FolderKernels

if TYPE_CHECKING:
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.subagents import Subagents
    from jupyter_eca.workspace.ports import Files, Kernel, Notebooks


class ToolContexts:
    """Builds the tool contexts and the surroundings of all chats of one host."""

    def __init__(self, services: Services, chats: Chats, subagents: Subagents) -> None:
        self._services = services
        self._chats = chats
        self._subagents = subagents

    def get_files(self, chat: str, folder: str = "") -> Files:
        """Return the files as a chat sees them: relative paths start in its working directory. `folder` is the working
        directory of a turn that is about to begin. A subagent has the working directory of its parent.
        """
        files, live = self._services.workspace.files, self._chats.get_live(chat)
        live = self._chats.get_live(live.parent) if live and live.parent else live
        return files.with_folder(folder or (live.choice.folder if live else ""))

    def get_owner(self, chat: str) -> str:
        """Return the id of the chat that a chat works for: for a subagent it is the parent chat."""
        live = self._chats.get_live(chat)
        return live.parent if live and live.parent and self._chats.get_live(live.parent) else chat

    def list_tool_conditions(self, chat: str, kernel: Kernel | None, folder: str = "") -> tuple[object, ...]:
        """Return the values that decide which tools a chat can use. As long as they are equal to the last ones, the
        tools are the same. `kernel` is that of the cell that asked, and `folder` the working directory of a turn that
        is about to begin; "" for that of the chat."""
        subscribers, live, owner = self._services.subscribers, self._chats.get_live(chat), self.get_owner(chat)
        has_kernel = bool(kernel or self._find_kernel(self.get_files(chat, folder)))
        editor, can_ask = subscribers.find_editor(owner), subscribers.has_answerer(owner)
        has_notebooks = self._services.workspace.notebooks is not None and not self._is_unattended
        abilities = has_notebooks, self._can_run_cells(owner), self._can_control_kernels(kernel)
        # A chat that is not in memory (None) has no tools for plans and subagents.
        return live is None, owner, has_kernel, abilities, editor, can_ask

    def _can_run_cells(self, chat: str) -> bool:
        """Return whether cells of notebooks can run: a client has notebooks open, or this process finds their
        kernels."""
        return self._services.workspace.kernels is not None or bool(self._services.subscribers.list_notebooks(chat))

    def _can_control_kernels(self, kernel: Kernel | None) -> bool:
        """Return whether a kernel can be interrupted and restarted. `kernel` is that of the cell that asked, None if no
        cell did."""
        return kernel is None or self._services.workspace.kernels is not None

    @property
    def _is_unattended(self) -> bool:
        """Whether a program runs the notebook whose kernel this process is."""
        notebooks = self._services.workspace.notebooks
        return isinstance(notebooks, ExecutionMemory) and notebooks.is_unattended

    def _find_kernel(self, files: Files) -> Kernel | None:
        """Return the kernel of the workspace, for chats that no cell asked in; None if there is none. A Jupyter server
        has one kernel for each notebook, which Jupyter starts in the folder of the notebook. There the working
        directory of the chat (`files.folder`) selects the kernel."""
        kernel = self._services.workspace.kernel
        return kernel.get_for_folder(files.folder) if files.folder and isinstance(kernel, FolderKernels) else kernel

    def build(
        self, chat: str, kernel: Kernel | None, call: str = "", notebook: str | None = None, folder: str = ""
    ) -> ToolContext:
        """Build the context for the tools of a chat. See `get_files` for `folder`.

        `call` is the id of the tool call that the context is for; "" for none. `kernel` is that of the cell that asked.
        Without one, the kernel of the workspace is used. `notebook` is the one in which the user asked, None for that
        of the turn under way. A subagent works for its parent's turn: its changes are kept with that turn, so that they
        can be undone with it, and its jobs and cells belong to the parent's chat.
        """
        services, live = self._services, self._chats.get_live(chat)
        under_way = live.under_way if live else None
        files = self.get_files(chat, folder)
        nested = live is not None and bool(live.parent)  # whether the chat is that of a subagent
        # The chat whose turn the tools work for.
        owner = self._chats.get_live(live.parent) if live and nested else live
        chat = owner.state.id if owner else chat
        running = next((state for state in live.state.calls if state.id == call), None) if live else None
        review = choose_review_state(running, services.config.review)
        return ToolContext(
            chat,
            files,
            call,
            kernel=kernel or self._find_kernel(files),
            kernels=find_kernels(services, kernel),
            notebooks=self.find_notebooks(chat),
            notebook=(under_way.notebook if under_way else "") if notebook is None else notebook,
            direct=under_way is not None and under_way.called_tool is not None,
            questions=ChatQuestions(services.subscribers, chat)
            if services.subscribers.has_answerer(chat) and not nested
            else None,
            editor=services.subscribers.find_editor(chat),
            jobs=services.jobs,
            checkpointer=CallCheckpointer(services.checkpoints, chat, owner.state.turn, owner.cell_lock, review=review)
            if owner
            else None,
            plan=live.plan if live and not nested else None,
            rules=self.build_rules(chat)
            if live and live.pinned_prompt and live.pinned_prompt.has_section(CATALOGUE)
            else None,
            skills=SkillRegistry(services.workspace.files, services.config, services.subscribers.warn),
            spawner=self._subagents.build_spawner(chat) if live and not nested else None,
            nested=nested,
            outputs=ChatOutputs(services.outputs, chat, services.config.tool_call.output_truncation),
            previews=ChatPreviews(chat, services.store),
            remembered=live.state.approved_scopes if live else frozenset(),
            shown_details=running.details if running else None,
            from_cell=kernel is not None,
            can_run_cells=self._can_run_cells(chat),
            can_control_kernels=self._can_control_kernels(kernel),
            is_unattended=self._is_unattended,
            marks_cells=services.config.notebook.mark_cells,
            variables_config=services.config.notebook.variables,
            known=live.known_versions if live else KnownVersions(),
            sandbox=make_sandbox(services.config.tool_call.sandbox, files.roots),
            trusts_sandbox=services.config.tool_call.sandbox.mode is SandboxMode.AUTO,
            clock=services.clock,
            get_environment=services.catalog.build_environment,
        )

    def build_expected(self, chat: str = "", kernel: Kernel | None = None) -> ToolContext:
        """Build the context that tools will have in the next turn of a chat, which may be new. It always has a plan and
        a spawner."""
        context = self.build(chat, kernel)
        spawner = context.spawner or self._subagents.build_spawner(chat)
        return replace(context, plan=context.plan or Plan(), spawner=spawner)

    def build_rules(self, chat: str) -> ChatPathRules:
        """Build the rules for certain files, as they apply to a chat."""
        services = self._services
        return ChatPathRules(services.current, self._chats, services.subscribers.warn, chat, self.get_files(chat))

    def build_surroundings(
        self,
        chat: str,
        kernel: Kernel | None,
        notebook: str = "",
        known: KnownVersions | None = None,
    ) -> Surroundings:
        """Build the sources that the contexts of a chat are read from.

        `kernel` is that of the cell that asked, None for none. `notebook` is the one in which the user asked, "" while
        the user still types. Without one, the active notebook is used. `known` remembers which versions of files and
        cells the model has read. It is only passed when the model gets what is read.
        """
        services, workspace, files = self._services, self._services.workspace, self.get_files(chat)
        live = self._chats.get_live(chat)
        return Surroundings(
            chat,
            files,
            services.index,
            kernel or self._find_kernel(files),
            services.mcp,
            self.find_notebooks(chat),
            services.recent_looks,
            services.config.notebook.variables,
            workspace.kernels if kernel is None else None,
            workspace.notebooks if isinstance(workspace.notebooks, ExecutionMemory) else None,
            notebook,
            known or KnownVersions(),
            services.config.policy,
            find_kernels(services, kernel),
            live.state.history if live else (),
        )

    def find_notebooks(self, chat: str) -> Notebooks | None:
        """Return the notebooks that a chat can use; None if this process has none."""
        return find_notebooks(self._services, chat)

    async def find_active_notebook(self, chat: str) -> str:
        """Return the path of the notebook that is in front of the user, "" for none."""
        return await find_active_notebook(self._services, chat)


def choose_review_state(call: ToolCall | None, setting: ReviewTime) -> ReviewState:
    """Return the review state of the changes that a call is going to make: whether the user has approved them before,
    still reviews them afterwards, or never does.

    `setting` is the user's setting for reviews. An approval settles a change only if the card showed the change: nobody
    sees what a command is going to change.
    """
    never = setting is ReviewTime.NEVER
    if call is not None and call.cause is not None and call.cause.kind == "review":
        return ReviewState.UNSEEN_SETTLED if never or call.review is ReviewTime.NEVER else ReviewState.UNSEEN
    approved = call is not None and call.approved and isinstance(call.details, FileChangeDetails)
    return ReviewState.SETTLED if never or approved else ReviewState.OPEN
