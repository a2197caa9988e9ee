/**
 * Questions that wait for the end of the turn under way. They are kept in the page and are lost when it is closed.
 *
 * Knows no connection: the session, which sends the next question, is seen through `QueueOwner` only.
 */

import type { Action, Chat } from './state';
import type { Queued } from './types';

/** What this module needs of a session. */
export interface QueueOwner {
  /** The chat that is shown. */
  readonly chat: Chat;
  /** Called with text that goes back to the prompt box. */
  readonly onDraft: (text: string) => void;
  dispatch(action: Action): void;
}

/** Add a question to the queue of the chat that is shown. */
export function enqueue(owner: QueueOwner, question: Queued): void {
  const { id: chatId, queue = [] } = owner.chat;
  owner.dispatch({ type: 'queued', chatId, queue: [...queue, question] });
}

/** Take a question out of the queue; its text goes back to the prompt box. */
export function dequeue(owner: QueueOwner, index: number): void {
  const { id: chatId, queue = [] } = owner.chat;
  owner.dispatch({ type: 'queued', chatId, queue: queue.filter((_, position) => position !== index) });
  owner.onDraft(queue[index]?.text ?? '');
}

/**
 * Remove and return what is asked next in a chat whose turn has ended: first the steering messages that the model was
 * not sent in time, as one question, then the first question of the queue.
 */
export function takeNext(owner: QueueOwner, chat: Chat): Queued | undefined {
  const { id: chatId, steers, queue = [] } = chat;
  if (steers.length > 0) {
    owner.dispatch({ type: 'steered', chatId, steers: [] });
    return { text: steers.join('\n\n'), contexts: [] };
  }
  const [first, ...rest] = queue;
  if (first !== undefined) {
    owner.dispatch({ type: 'queued', chatId, queue: rest });
  }
  return first;
}
