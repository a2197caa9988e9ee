/**
 * Keeps a draft for each chat: the text that the user has typed and not sent, and the contexts that were chosen for it.
 *
 * The prompt box cannot keep a draft, because the box is created again when another chat or the list of chats is shown.
 * After a reload of the page, drafts are read from a store. Contexts that contain images or texts are lost then: they
 * may be too large to store.
 */

import type { Session } from './session';
import type { ChatContext, ChatId } from '../wire/protocol';

/** A draft: a text, and the contexts that were chosen for it. */
export interface UnsentMessage {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
}

/** Stores drafts by the ids of their chats, beyond a reload of the page. `TabStorage` implements it. */
export interface DraftStore {
  getDraft(chatId: string): string;
  setDraft(chatId: string, text: string): void;
  /** Returns the contexts of a draft as JSON; empty when there are none. */
  getDraftContexts(chatId: string): string;
  setDraftContexts(chatId: string, json: string): void;
}

/** The draft of a chat in which nothing was typed. */
const EMPTY_MESSAGE: UnsentMessage = { text: '', contexts: [] };

/** The drafts of all chats. A chat without a draft has an empty one. */
export class Drafts {
  /** The drafts that were set in this page, by the ids of their chats. */
  private readonly messages = new Map<string, UnsentMessage>();

  /** Without `store`, the drafts are lost when the page is reloaded. */
  constructor(private readonly store?: DraftStore) {}

  /** Return the draft of a chat: the one that was set in this page, otherwise the one in the store. */
  get(chatId: ChatId): UnsentMessage {
    const id = String(chatId);
    return (
      this.messages.get(id) ??
      (this.store === undefined
        ? EMPTY_MESSAGE
        : { text: this.store.getDraft(id), contexts: parseContexts(this.store.getDraftContexts(id)) })
    );
  }

  /** Replace the draft of a chat, also in the store. */
  set(chatId: ChatId, message: UnsentMessage): void {
    const id = String(chatId);
    this.messages.set(id, message);
    this.store?.setDraft(id, message.text);
    this.store?.setDraftContexts(id, formatContexts(message.contexts));
  }

  /** Add a message after the draft of a chat. */
  add(chatId: ChatId, { text, contexts }: UnsentMessage): void {
    const draft = this.get(chatId);
    this.set(chatId, {
      text: [draft.text, text].filter(Boolean).join('\n'),
      contexts: [...draft.contexts, ...contexts]
    });
  }

  /** Forget the draft of a chat that was deleted. */
  delete(chatId: ChatId): void {
    this.set(chatId, EMPTY_MESSAGE);
    this.messages.delete(String(chatId));
  }

  /**
   * Move a draft to another chat, for example when the id of the chat becomes known. If that chat has a draft, too, the
   * moved text is added after it.
   */
  move(from: ChatId, to: ChatId): void {
    const moved = this.get(from);
    if (from !== to && (moved.text !== '' || moved.contexts.length > 0)) {
      this.add(to, moved);
      this.set(from, EMPTY_MESSAGE);
    }
  }
}

/**
 * Return contexts as JSON; empty for none. Images and texts are left out, because they contain all of their data and
 * may be too large to store.
 */
function formatContexts(contexts: readonly ChatContext[]): string {
  const storable = contexts.filter(({ type }) => type !== 'image' && type !== 'text');
  return storable.length === 0 ? '' : JSON.stringify(storable);
}

/** Return the contexts in a stored JSON; none when it is not valid. */
function parseContexts(json: string): readonly ChatContext[] {
  try {
    const parsed: unknown = JSON.parse(json || '[]');
    return Array.isArray(parsed) ? parsed.filter(isContext) : [];
  } catch {
    return [];
  }
}

/** Whether a parsed JSON value has the form of a context. */
function isContext(value: unknown): value is ChatContext {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/**
 * Start a new chat and show it.
 *
 * Another new chat may have a text that was typed and never sent. That chat is in no list, so the user could not find
 * the text again. So the text is moved into the chat that starts now. `isNotebookChat` returns whether a chat belongs
 * to a notebook. The panel shows such a chat again with its notebook, so its text stays there.
 */
export function startChat(session: Session, drafts: Drafts, isNotebookChat: (chatId: ChatId) => boolean): void {
  const shown = session.chat.id;
  // Nothing was ever asked in a chat without contents (`seq` is the number of the last content) and without blocks.
  const abandoned = Object.values(session.state.chats).findLast(
    ({ id, seq, blocks }) =>
      seq === 0 && blocks.length === 0 && drafts.get(id).text !== '' && (id === shown || !isNotebookChat(id))
  );
  session.startChat();
  if (abandoned !== undefined) {
    drafts.move(abandoned.id, session.chat.id);
  }
}

/**
 * Put a message that was refused back into its chat: into the prompt box, if the chat is shown there, and otherwise
 * into the draft. `hasBox`: whether a prompt box is shown.
 */
export function putBackMessage(
  session: Session,
  drafts: Drafts,
  chatId: ChatId,
  { text, contexts }: UnsentMessage,
  hasBox: boolean
): void {
  if (hasBox && chatId === session.chat.id) {
    session.onInsertText(text, contexts);
  } else {
    drafts.add(chatId, { text, contexts });
  }
}
