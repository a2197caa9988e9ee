/** Questions for after the turn that is under way. They wait in the page: what is asked in it goes with it. */

import type { ChatContext } from '../wire/protocol';
import type { Session } from './session';
import type { Chat } from './state';

export interface Queued {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
}

export function queue(session: Session, one: Queued): void {
  const { id: chatId, queue = [] } = session.chat;
  session.act({ type: 'queued', chatId, queue: [...queue, one] });
}

/** The words of one come back to the prompt box. */
export function unqueue(session: Session, index: number): void {
  const { id: chatId, queue = [] } = session.chat;
  session.act({ type: 'queued', chatId, queue: queue.filter((_, n) => n !== index) });
  session.onDraft(queue[index]?.text ?? '');
}

/** What is asked when a turn has ended: first what it was to be told and was not, then what waited for its end. */
export function nextOf(session: Session, chat: Chat): Queued | undefined {
  const { id: chatId, steers, queue = [] } = chat;
  if (steers.length > 0) {
    session.act({ type: 'steered', chatId, steers: [] });
    return { text: steers.join('\n\n'), contexts: [] };
  }
  const [first, ...rest] = queue;
  if (first !== undefined) {
    session.act({ type: 'queued', chatId, queue: rest });
  }
  return first;
}
