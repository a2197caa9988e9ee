/**
 * Creates the panel in Lab: the session, and the environment (`Env`) through which the views use Lab.
 *
 * This module is loaded when Lab is idle, or when the panel is first shown. It knows no menu and no command: those are
 * in `plugin.ts`. `widget/index.tsx` does the same for a panel in the output of a cell.
 */

import { ServerConnection } from '@jupyterlab/services';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { UUID } from '@lumino/coreutils';
import * as React from 'react';

import '../../style/panel.css';
import '../../style/code_tools.css';

import { ApprovalRules, makeCallKey } from '../chat/approval_rules';
import { CellRewriter } from '../inline/edit_cells';
import { Drafts, startChat } from '../chat/drafts';
import { createFlags, createRateAnswer } from '../chat/flags';
import { NotebookFollower } from '../chats/notebook_chats';
import { watchRenames } from '../notebook/renames';
import { OpenProposedCells } from '../notebook/proposed_cells';
import { haveSameSources } from '../notebook/same_sources';
import { deletedQuestions, setQuestionDeleted } from '../notebook/deleted_questions';
import { findLinkedPath } from '../render/sanitize';
import { ActiveInstructions } from '../notebook/instructions';
import { createElement } from '../view/common/element';
import { findOutage, openLink } from '../wire/link';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import { ServerAttachments } from './attachments';
import type { LabParts, LiveNotebooks } from '../notebook/live_notebooks';
import { findCodeTarget, createCellFinder, NotebookSurroundings } from '../notebook/active_notebook';
import { showOffer } from './notices';
import { fetchWholeOutput } from '../chat/tool_output';
import { HunkPainter } from '../review/hunk_painter';
import type { PreferenceStore } from '../view/common/preferences';
import { TabStorage } from '../chat/tab_storage';
import type { Change } from '../chat/types';
import { addCodeColors } from '../render/code_colors';
import { createMarkdownRenderer } from '../render/markdown';
import { ReviewController } from '../review/controller';
import type { Link } from '../wire/rpc';
import { Session } from '../chat/session';
import { findParent } from '../chat/state';
import { ChatId } from '../wire/protocol';
import { App } from '../view/App';
import { Env, EnvProvider } from '../view/common/env';
import { ignoreRepeatedClicks } from '../render/repeated_clicks';

/**
 * The CSS selector of the prompt box. The first text area may be that of the notebook's instructions, so the box is
 * found by its role.
 */
const PROMPT_BOX = 'textarea[role=combobox]';

/** The parts of Lab that the plugin passes to the panel. */
export interface PanelParts {
  /** The address of the Jupyter server, and how to connect with it. */
  readonly settings: ServerConnection.ISettings;
  /** The first link, which is opened before the panel is loaded. If that fails, only the session shows the error. */
  readonly link: Promise<Link>;
  /** Lab's renderers, for Markdown. */
  readonly rendermime: IRenderMimeRegistry;
  readonly translator: ITranslator;
  /** The parts of Lab that find, open and run notebooks. */
  readonly lab: LabParts;
  /** The open notebooks, which the server reads and edits. */
  readonly notebooks: LiveNotebooks;
  /** What the user has set for the panel in Lab's settings. */
  readonly preferences: PreferenceStore;
  /** Opens the settings of the assistant, at a section if one is named. */
  readonly openSettings: (section?: string) => void;
  /** Lab's document manager, with which files are opened and attached; undefined on a page without one. */
  readonly documentManager: IDocumentManager | undefined;
}

/** The panel, with its session, and with the objects that show the assistant's changes in the notebooks. */
export class AssistantPanel extends ReactWidget {
  readonly session: Session;
  /** What the user has typed in each chat and not sent. */
  private readonly drafts: Drafts;
  /** The place where the user works, for example the active cell of a notebook. */
  private readonly surroundings: NotebookSurroundings;
  /** The instructions of the active notebook. */
  private readonly instructions: ActiveInstructions;
  /** Shows the changes of the assistant in the cells. */
  readonly review: ReviewController;
  /** Rewrites cells as the user instructs. */
  readonly rewriter: CellRewriter;
  /** The functions of Lab that the views use. */
  readonly env: Env;
  /** What the user has set for the panel in Lab's settings. */
  readonly preferences: PreferenceStore;
  /** Lab's document manager, with which files are opened and attached; undefined on a page without one. */
  readonly documentManager: IDocumentManager | undefined;
  /** The CSS selector of the element that gets the focus when the panel comes to the front. */
  private focusSelector = PROMPT_BOX;
  /** Brings the panel to the front. */
  readonly reveal: () => void;
  /** Shows the chat of a notebook when the notebook becomes active, unless the user keeps one chat (`pinChat`). */
  private readonly follower: NotebookFollower;
  /** Disconnects the panel from the notebooks and the preferences. */
  private readonly stopFollowing: () => void;
  /** Resolves when the panel has tried to connect and, if it could, shows the chat of the active notebook. */
  readonly connecting: Promise<void>;

  constructor({
    settings,
    link,
    rendermime,
    translator,
    lab,
    notebooks,
    preferences,
    openSettings,
    documentManager
  }: PanelParts) {
    super();
    this.addClass('eca-PanelHost');
    ignoreRepeatedClicks(this.node);
    addCodeColors();
    const trans = translator.load('jupyter_eca');
    this.preferences = preferences;
    this.documentManager = documentManager;
    const { tracker } = lab;
    this.reveal = () => {
      // The widget that Lab knows is the `PanelPlace` around this panel.
      lab.reveal(this.parent?.id ?? this.id);
    };
    const openPath = (path: string): void => void lab.openPath(path);
    const codeTools = {
      // Where the buttons of a block of code insert the code: at the active cell. It is looked up at each use, because
      // the user goes from cell to cell.
      get target() {
        return findCodeTarget(tracker);
      }
    };
    const showCell = (path: string, cellId?: string): void => {
      notebooks.open({ path, ...(cellId !== undefined && { cellId }) }).catch((error: unknown) => {
        this.session.showError(error);
      });
    };
    this.env = {
      trans,
      openPath,
      showCell,
      findCell: createCellFinder(tracker),
      findKernel: path => tracker.find(({ context }) => context.localPath === path)?.sessionContext.kernelDisplayName,
      findNotebook: () => this.surroundings.findNotebook(),
      proposedCells: new OpenProposedCells(tracker, () => this.session.chat.blocks),
      deletedQuestions,
      markdown: createMarkdownRenderer(rendermime, codeTools, translator),
      fetchWholeOutput: id => fetchWholeOutput(this.session, id),
      preferences,
      savePreferences: preferences.save,
      openSettings,
      ...(documentManager && { attachments: new ServerAttachments(documentManager, tracker, translator) }),
      approvalRules: new ApprovalRules(() => this.session),
      // Flags and ratings are marks that the user gives to messages.
      flags: createFlags(() => this.session),
      rateAnswer: createRateAnswer(() => this.session)
    };
    this.surroundings = new NotebookSurroundings(tracker, trans, lab.findFrontWidget);
    this.instructions = new ActiveInstructions(tracker);
    const storage = new TabStorage(settings.baseUrl);
    this.drafts = new Drafts(storage);
    const initialChat = storage.getChat();
    // The session uses this link once, and opens all later links itself.
    let firstLink: Promise<Link> | undefined = link;
    this.session = new Session({
      notebooks,
      open: () => {
        const opened = firstLink ?? openLink(settings);
        firstLink = undefined;
        return opened;
      },
      // Says why the server cannot be reached.
      findOutage: () => findOutage(settings),
      ...(initialChat !== undefined && { initialChat }),
      createId: () => UUID.uuid4(),
      callLater: (call, ms) => {
        const timer = window.setTimeout(call, ms);
        return () => {
          window.clearTimeout(timer);
        };
      }
    });
    // The server offers a link or a sign-in: show it as a notification with a button.
    this.session.onOffer = offer => {
      showOffer(offer, trans, server => {
        this.session.notify('mcp/connectServer', { name: server });
      });
    };
    this.session.onFilesRemoved = changes => {
      changes.forEach(this.closeDocument);
    };
    this.session.subscribe(() => {
      const { id } = this.session.chat;
      if (String(id) !== storage.getChat()) {
        storage.setChat(String(id));
      }
      // When a cell was deleted whose answer waits for the user, the card in the panel says so. Once the turn has ended,
      // nothing waits any more.
      for (const chat of deletedQuestions.current()) {
        if (this.session.state.chats[chat]?.status === 'idle') {
          setQuestionDeleted(chat, false);
        }
      }
    });
    this.follower = new NotebookFollower(
      this.session,
      storage,
      this.drafts,
      this.surroundings.findNotebook,
      // Whether the panel keeps its chat when another notebook becomes active.
      () => preferences.current().pinChat
    );
    // The assistant opens a notebook during its turn: the panel must not leave the chat of the turn.
    notebooks.onOpen = path => {
      this.follower.keepRunningChat(path);
    };
    const follow = (): void => void this.follower.follow();
    tracker.currentChanged.connect(follow);
    const unsubscribe = preferences.subscribe(follow);
    const stopWatching = watchRenames(tracker, (from, to) => {
      this.follower.rename(from, to);
    });
    this.stopFollowing = () => {
      tracker.currentChanged.disconnect(follow);
      unsubscribe();
      stopWatching();
    };
    const painter = new HunkPainter();
    this.review = new ReviewController(this.session, tracker, notebooks, painter, storage, trans, this.showWaitingCall);
    this.rewriter = new CellRewriter(this.session, notebooks, painter, trans, () => this.connecting);
    this.node.addEventListener('click', this.openClickedPath);
    this.node.addEventListener('keydown', this.openClickedPath);
    this.connecting = this.session.connect().then(() => this.follower.follow());
  }

  override dispose(): void {
    this.stopFollowing();
    this.review.dispose();
    this.session.close();
    super.dispose();
  }

  /**
   * Ask a question with the place in the notebook as context, in the chat of that notebook. While that chat runs, ask
   * in a new chat.
   */
  async ask(message: string): Promise<void> {
    const contexts = this.surroundings.readContexts();
    await this.connecting;
    await this.follower.follow();
    if (this.session.chat.status !== 'idle') {
      this.session.startChat();
    }
    if (!(await this.session.prompt(message, contexts))) {
      // The message was not sent: put it into the prompt box.
      this.session.onInsertText(message);
    }
  }

  /** Open a new chat with an agent, as if the user had started it in the panel and chosen the agent there. */
  tryAgent(agent: string): void {
    this.reveal();
    startChat(this.session, this.drafts, this.follower.isNotebookChat);
    this.session.choose({ agent });
    this.focus();
  }

  /**
   * Focus the prompt box, or the card that `showWaitingCall` shows: now or, when the panel is opened for the first time,
   * as soon as it is drawn.
   */
  focus(): void {
    const selector = this.focusSelector;
    this.focusSelector = PROMPT_BOX;
    const focusElement = (): boolean => {
      const element = this.node.querySelector<HTMLElement>(selector);
      element?.focus();
      return element !== null;
    };
    if (!focusElement()) {
      // Tries again at each drawing of the panel.
      const drawn = new MutationObserver(() => {
        if (focusElement()) {
          drawn.disconnect();
        }
      });
      drawn.observe(this.node, { childList: true, subtree: true });
    }
  }

  protected override render(): React.ReactElement {
    return (
      <EnvProvider value={this.env}>
        <App
          session={this.session}
          drafts={this.drafts}
          surroundings={this.surroundings}
          instructions={this.instructions}
          isNotebookChat={this.follower.isNotebookChat}
        />
      </EnvProvider>
    );
  }

  /**
   * Bring the panel to the front with the card of a waiting call, and focus the head of the card. The button that
   * approves does not get the focus: a second press of Enter would approve what the user has not read.
   */
  private readonly showWaitingCall = (chatId: ChatId, id: string): void => {
    this.focusSelector = `[data-call="${CSS.escape(makeCallKey(chatId, id))}"] .eca-Tool-head`;
    // Lab calls `focus` when the panel is in front.
    void this.session.openChat(findParent(this.session.state, chatId)).then(this.reveal);
  };

  /**
   * Close the document of a file that the assistant had made, and that is gone now. If the user has changed it and not
   * saved it, it stays open, because it may be the only copy.
   */
  private readonly closeDocument = ({ path, text }: Change): void => {
    const model = this.documentManager?.findWidget(path, null)?.context.model;
    // Lab marks a notebook as changed when its kernel starts, because it notes the name of the kernel in the metadata.
    if (model !== undefined && (!model.dirty || haveSameSources(model.toString(), text?.after))) {
      model.dirty = false;
      void this.documentManager?.closeFile(path);
    }
  };

  /** Open the file of a link that was clicked, or on which Enter was pressed. */
  private readonly openClickedPath = (event: Event): void => {
    const path = findLinkedPath(event.target);
    if (path !== undefined && (!(event instanceof KeyboardEvent) || event.key === 'Enter')) {
      event.preventDefault();
      this.env.openPath(path);
    }
  };
}
