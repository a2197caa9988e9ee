/**
 * Finds the chat of the active notebook (the one that the user works in), and lets the panel follow that notebook: when
 * the user goes to another notebook, the panel shows the chat of that notebook.
 *
 * This module does not use Lab: `panel/panel.tsx` finds the active notebook, and calls `follow` when it changes.
 */

import { isUnused } from '../chat/state';
import { Drafts } from '../chat/drafts';
import { Session } from '../chat/session';
import { listChatsOfOthers } from '../chat/waiting_chats';
import { ChatId, ChatSummary } from '../wire/protocol';

/** Stores which chat was shown last with each notebook. `TabStorage` implements it. */
export interface NotebookChatStore {
  getNotebookChat(path: string): string | undefined;
  setNotebookChat(path: string, chat: string): void;
}

/** Return the newest chat of a notebook; undefined when there is none. */
export function findNewestChat(list: readonly ChatSummary[], notebook: string): ChatId | undefined {
  return list
    .filter(chat => chat.notebook === notebook)
    .reduce<ChatSummary | undefined>(
      (last, chat) => (last && last.updatedAt >= chat.updatedAt ? last : chat),
      undefined
    )?.id;
}

/**
 * Keeps the chat of the active notebook in the panel. The panel calls `follow` whenever another notebook becomes
 * active.
 */
export class NotebookFollower {
  /** The path of the notebook whose chat is shown; undefined as long as no notebook was active. */
  private notebook: string | undefined;
  /** The chat that was shown last. */
  private shownChat: ChatId;
  /** The paths of the notebooks that were active in this page. */
  private readonly visited = new Set<string>();
  /** The paths of the notebooks that a running chat opens. The chat stays in the panel, and becomes theirs. */
  private readonly kept = new Set<string>();
  /** Resolves when the last call of `follow` is done. */
  private lastFollow = Promise.resolve();
  /** The chat from elsewhere that was opened last, so that it is opened once. */
  private opening: ChatId | undefined;
  /** The empty chats that were shown with notebooks without a chat. The user has not asked for them. */
  private readonly emptyChats = new Set<ChatId>();
  /**
   * The old and the new paths of renamed notebooks, by the chats that began in them. The list of chats has the old path
   * until the list is fetched again. If the files belong to another program than the page's server, the server never
   * learns of the new path.
   */
  private readonly renames = new Map<ChatId, { readonly from: readonly string[]; readonly to: string }>();

  /**
   * `findActiveNotebook` returns the path of the active notebook, or undefined when none is active. `isPinned` returns
   * whether the panel keeps its chat when another notebook becomes active. Both may change at any time. `drafts` holds
   * what the user has typed and not sent.
   */
  constructor(
    private readonly session: Session,
    private readonly store: NotebookChatStore,
    private readonly drafts: Drafts,
    private readonly findActiveNotebook: () => string | undefined,
    private readonly isPinned: () => boolean
  ) {
    this.shownChat = session.chat.id;
    session.subscribe(() => {
      this.handleShownChat();
    });
  }

  /**
   * Show the chat of the active notebook: the one that was shown last with it in this tab, otherwise its newest one,
   * otherwise a new chat. Nothing happens while the chat is pinned, or while there is no connection.
   */
  follow(): Promise<void> {
    // The calls run one after the other: the user may go to a third notebook while the list of chats is fetched.
    this.lastFollow = this.lastFollow.then(() => this.showNotebookChat());
    return this.lastFollow;
  }

  /** If the chat that is shown runs, keep it when the notebook at a path opens: the assistant has just made it. */
  keepRunningChat(path: string): void {
    if (this.session.chat.status !== 'idle') {
      this.kept.add(path);
    }
  }

  /** Let a notebook that was renamed keep its chats. A notebook that gets the old name must not find them. */
  rename(from: string, to: string): void {
    const { list } = this.session.state;
    const notebookChat = this.store.getNotebookChat(from) ?? '';
    this.store.setNotebookChat(to, notebookChat);
    this.store.setNotebookChat(from, '');
    for (const { id } of this.updatePaths(list).filter(({ notebook }) => notebook === from)) {
      this.recordRename(id, from, to);
    }
    if (notebookChat !== '' && !list.some(({ id }) => id === notebookChat)) {
      // The chat is so new that the list does not have it yet.
      this.recordRename(notebookChat, from, to);
    }
    if (this.visited.delete(from)) {
      this.visited.add(to);
    }
    if (this.notebook === from) {
      this.notebook = to;
    }
  }

  /** Whether a chat belongs to a notebook: the panel shows it again when the user goes to that notebook. */
  readonly isNotebookChat = (chat: ChatId): boolean =>
    [...this.visited].some(path => this.store.getNotebookChat(path) === String(chat));

  /** Remember that the notebook of the chat `id` was moved from one path to another. This may happen several times. */
  private recordRename(id: ChatId, from: string, to: string): void {
    this.renames.set(id, { from: [...(this.renames.get(id)?.from ?? []), from], to });
  }

  /** Return chats with the paths that their notebooks have now. */
  private updatePaths(list: readonly ChatSummary[]): readonly ChatSummary[] {
    return list.map(chat => {
      const rename = this.renames.get(chat.id);
      return rename?.from.includes(chat.notebook ?? '') === true ? { ...chat, notebook: rename.to } : chat;
    });
  }

  /** Do the work of one call of `follow`: show the chat of the active notebook, unless nothing may change now. */
  private async showNotebookChat(): Promise<void> {
    const { session } = this;
    const activeNotebook = this.findActiveNotebook();
    if (
      activeNotebook === undefined ||
      activeNotebook === this.notebook ||
      this.isPinned() ||
      session.state.connection !== 'open'
    ) {
      return;
    }
    const isFirstNotebook = this.notebook === undefined;
    const shown = session.chat;
    this.notebook = activeNotebook;
    this.visited.add(activeNotebook);
    if (this.kept.delete(activeNotebook)) {
      this.storeNotebookChat();
      return;
    }
    const notebookChat = this.store.getNotebookChat(activeNotebook) ?? (await this.fetchNewestChat(activeNotebook));
    const { lastPrompt } = session;
    if (session.chat.id !== shown.id || (lastPrompt?.chatId === shown.id && lastPrompt.notebook === activeNotebook)) {
      // The user did not wait: another chat was opened, or a question was asked. Both stay in view.
    } else if (notebookChat !== undefined && notebookChat !== shown.id) {
      if (isFirstNotebook && isUnused(shown)) {
        // The user may have typed a text before the first notebook was active. The text moves into the notebook's chat.
        this.drafts.move(shown.id, notebookChat);
      }
      await session.openChat(notebookChat);
    } else if (notebookChat === undefined && !(isFirstNotebook && isUnused(shown))) {
      session.startChat();
    } else {
      // The chat that is shown is the right one, or it is new and becomes the chat of the first notebook.
      void session.recallSelection();
    }
    if (notebookChat === undefined) {
      this.emptyChats.add(session.chat.id);
    }
    this.storeNotebookChat();
  }

  /**
   * Fetch the newest chat of a notebook from the server; undefined when there is none. A cell may have begun it since
   * the list was loaded. Or the file was moved outside of Jupyter, which the server finds out when it lists the chats.
   */
  private async fetchNewestChat(notebook: string): Promise<ChatId | undefined> {
    await this.session.loadChats(notebook);
    return findNewestChat(this.updatePaths(this.session.state.list), notebook);
  }

  /**
   * Called whenever the state of the session has changed. If the panel shows another chat than before, make it the chat
   * of the active notebook. Otherwise somebody else may have asked something about this notebook.
   */
  private handleShownChat(): void {
    const { id } = this.session.chat;
    if (id !== this.shownChat) {
      this.shownChat = id;
      this.storeNotebookChat();
    } else {
      this.showChatFromElsewhere();
    }
  }

  /**
   * If a chat about the active notebook begins elsewhere, and the user has not begun anything here, show that chat. A
   * cell may have begun it, or somebody else. If the user has opened an empty chat, the chat of a cell does not replace
   * it.
   */
  private showChatFromElsewhere(): void {
    const { session, notebook } = this;
    const { chat } = session;
    const isFree = isUnused(chat) && this.drafts.get(chat.id).text === '';
    if (notebook !== undefined && notebook === this.findActiveNotebook() && !this.isPinned() && isFree) {
      const [other] = listChatsOfOthers(session.state, notebook);
      const id =
        other?.id ??
        (this.emptyChats.has(chat.id) ? findNewestChat(this.updatePaths(session.state.list), notebook) : undefined);
      if (id !== undefined && id !== this.opening) {
        this.opening = id;
        void session.openChat(id);
      }
    }
  }

  /** Store the chat that is shown as the chat of the active notebook. */
  private storeNotebookChat(): void {
    if (this.notebook !== undefined && !this.isPinned() && this.notebook === this.findActiveNotebook()) {
      this.store.setNotebookChat(this.notebook, String(this.session.chat.id));
    }
  }
}
