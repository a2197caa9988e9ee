/**
 * What the user has typed in each chat and not sent: the text, and the contexts that were chosen for it.
 *
 * Drafts outlive the prompt box, which is drawn anew when another chat or the list of chats is shown. A store keeps the
 * texts when the page is reloaded; the contexts are then gone, because images in them may be large.
 */

import type { Session } from './session';
import type { ChatContext, ChatId } from '../wire/protocol';

export interface UnsentMessage {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
}

/** Keeps texts by the ids of their chats. `TabStorage` is one. */
export interface DraftStore {
  getDraft(chatId: string): string;
  setDraft(chatId: string, text: string): void;
}

const EMPTY: UnsentMessage = { text: '', contexts: [] };

export class Drafts {
  private readonly messages = new Map<string, UnsentMessage>();

  constructor(private readonly store?: DraftStore) {}

  get(chatId: ChatId): UnsentMessage {
    const id = String(chatId);
    return this.messages.get(id) ?? { ...EMPTY, text: this.store?.getDraft(id) ?? '' };
  }

  set(chatId: ChatId, message: UnsentMessage): void {
    const id = String(chatId);
    this.messages.set(id, message);
    this.store?.setDraft(id, message.text);
  }

  /** Forget the draft of a chat that was deleted. */
  delete(chatId: ChatId): void {
    this.set(chatId, EMPTY);
    this.messages.delete(String(chatId));
  }

  /** Move a draft to another chat, for example when the chat turns out to have another id, unless that one has its own. */
  move(from: ChatId, to: ChatId): void {
    if (this.get(to).text === '') {
      this.set(to, this.get(from));
      this.set(from, EMPTY);
    }
  }
}

/** Start a chat. What was typed in a new chat that never began goes along: no list of chats would show it again. */
export function startChat(session: Session, drafts: Drafts): void {
  const abandoned = Object.values(session.state.chats).findLast(
    ({ id, seq, blocks }) => seq === 0 && blocks.length === 0 && drafts.get(id).text !== ''
  );
  session.startChat();
  if (abandoned !== undefined) {
    drafts.move(abandoned.id, session.chat.id);
  }
}
