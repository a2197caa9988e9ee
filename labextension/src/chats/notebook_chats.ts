/**
 * Finds the chat of the notebook in front, and lets the panel follow that notebook: when the user goes to another
 * notebook, the panel shows the chat of that notebook.
 *
 * This module knows no Lab: `panel/panel.tsx` says which notebook is in front, and when another one is.
 */

import { isUnused } from '../chat/state';
import { Drafts } from '../chat/drafts';
import { Session } from '../chat/session';
import { ChatId, ChatSummary } from '../wire/protocol';

/** Stores which chat was shown last with each notebook. `TabStorage` implements it. */
export interface NotebookChatStore {
  getNotebookChat(path: string): string | undefined;
  setNotebookChat(path: string, chat: string): void;
}

/** Return the newest chat of a notebook; undefined when there is none. */
export function findNewest(list: readonly ChatSummary[], notebook: string): ChatId | undefined {
  return list
    .filter(chat => chat.notebook === notebook)
    .reduce<ChatSummary | undefined>(
      (last, chat) => (last && last.updatedAt >= chat.updatedAt ? last : chat),
      undefined
    )?.id;
}

/**
 * Keeps the panel at the chat of the notebook in front. The panel calls `follow` whenever another notebook is in front.
 */
export class NotebookFollower {
  /** The path of the notebook whose chat is shown; undefined as long as no notebook was in front. */
  private notebook: string | undefined;
  /** The chat that was shown last. */
  private shown: ChatId;
  /** The paths of the notebooks that were in front. */
  private readonly visited = new Set<string>();
  /** Resolves when the last call of `follow` is done. */
  private lastFollow = Promise.resolve();
  /**
   * The old and the new paths of renamed notebooks, by the chats that began in them. The list of chats has the old path
   * until the list is fetched again. If the files belong to another program than the page's server, the server never
   * learns of the new path.
   */
  private readonly moved = new Map<ChatId, { readonly from: readonly string[]; readonly to: string }>();

  /**
   * `findFront` returns the path of the notebook in front, and `isPinned` whether the panel keeps its chat. Both may
   * change at any time. `drafts` holds what the user has typed and not sent.
   */
  constructor(
    private readonly session: Session,
    private readonly store: NotebookChatStore,
    private readonly drafts: Drafts,
    private readonly findFront: () => string | undefined,
    private readonly isPinned: () => boolean
  ) {
    this.shown = session.chat.id;
    session.subscribe(() => {
      this.noteShown();
    });
  }

  /**
   * Show the chat of the notebook in front: the one that was shown last with it in this tab, otherwise its newest one,
   * otherwise a new chat. Nothing happens while the chat is pinned, or as long as there was no connection.
   */
  follow(): Promise<void> {
    // One after the other: the user may go on to a third notebook while the list of chats is fetched.
    this.lastFollow = this.lastFollow.then(() => this.showOwnChat());
    return this.lastFollow;
  }

  /** Let a notebook that was renamed keep its chats. A notebook that gets the old name must not find them. */
  rename(from: string, to: string): void {
    const { list } = this.session.state;
    const ownChat = this.store.getNotebookChat(from) ?? '';
    this.store.setNotebookChat(to, ownChat);
    this.store.setNotebookChat(from, '');
    for (const { id } of this.updatePaths(list).filter(({ notebook }) => notebook === from)) {
      this.noteMove(id, from, to);
    }
    if (ownChat !== '' && !list.some(({ id }) => id === ownChat)) {
      // The chat is so new that the list does not have it yet.
      this.noteMove(ownChat, from, to);
    }
    if (this.visited.delete(from)) {
      this.visited.add(to);
    }
    if (this.notebook === from) {
      this.notebook = to;
    }
  }

  /** Whether a chat is shown again when the user goes to its notebook. */
  readonly isOfNotebook = (chat: ChatId): boolean =>
    [...this.visited].some(path => this.store.getNotebookChat(path) === String(chat));

  /** Remember that the notebook of a chat was renamed. It may be renamed several times. */
  private noteMove(id: ChatId, from: string, to: string): void {
    this.moved.set(id, { from: [...(this.moved.get(id)?.from ?? []), from], to });
  }

  /** Return chats with the paths that their notebooks have now. */
  private updatePaths(list: readonly ChatSummary[]): readonly ChatSummary[] {
    return list.map(chat => {
      const move = this.moved.get(chat.id);
      return move?.from.includes(chat.notebook ?? '') === true ? { ...chat, notebook: move.to } : chat;
    });
  }

  /** Show the chat of the notebook in front. See `follow`. */
  private async showOwnChat(): Promise<void> {
    const { session } = this;
    const front = this.findFront();
    if (front === undefined || front === this.notebook || this.isPinned() || session.state.connection !== 'open') {
      return;
    }
    const isFirst = this.notebook === undefined;
    const shown = session.chat;
    this.notebook = front;
    this.visited.add(front);
    const ownChat = this.store.getNotebookChat(front) ?? (await this.fetchNewest(front));
    const { lastPrompt } = session;
    if (session.chat.id !== shown.id || (lastPrompt?.chatId === shown.id && lastPrompt.notebook === front)) {
      // The user did not wait: another chat was opened, or a question was asked. Both stay in view.
    } else if (ownChat !== undefined && ownChat !== shown.id) {
      if (isFirst && isUnused(shown)) {
        // The user may have typed before the first notebook was in front. That text belongs to its chat.
        this.drafts.move(shown.id, ownChat);
      }
      await session.openChat(ownChat);
    } else if (ownChat === undefined && !(isFirst && isUnused(shown))) {
      session.startChat();
    } else {
      // The chat that is shown is the right one, or it is new and becomes the chat of the first notebook.
      void session.recallSelection();
    }
    this.noteChat();
  }

  /**
   * Fetch the newest chat of a notebook. Cells may have begun it since the list was loaded. Or the file was moved outside
   * of Jupyter: the server finds this out when it is asked for the list.
   */
  private async fetchNewest(notebook: string): Promise<ChatId | undefined> {
    await this.session.loadChats(notebook);
    return findNewest(this.updatePaths(this.session.state.list), notebook);
  }

  /** When the user opens another chat, that is the chat of the notebook from now on. */
  private noteShown(): void {
    const { id } = this.session.chat;
    if (id !== this.shown) {
      this.shown = id;
      this.noteChat();
    }
  }

  /** Store that the chat that is shown is the chat of the notebook in front. */
  private noteChat(): void {
    if (this.notebook !== undefined && !this.isPinned() && this.notebook === this.findFront()) {
      this.store.setNotebookChat(this.notebook, String(this.session.chat.id));
    }
  }
}
