/**
 * The queue of a chat: questions that are sent when the running turn has ended. The queue is kept in the page only, and
 * is lost when the page is closed.
 *
 * This module knows no connection: the session sends the next question. See `QueueOwner` for what is used of it.
 */

import type { Action, Chat } from './state';
import type { Queued } from './types';

/** The parts of a session that this module uses. */
export interface QueueOwner {
  /** The chat that is shown. */
  readonly chat: Chat;
  /** Called with text that goes back to the prompt box. */
  readonly onInsertText: (text: string) => void;
  dispatch(action: Action): void;
}

/** Add a question to the queue of the chat that is shown. */
export function enqueue(owner: QueueOwner, question: Queued): void {
  const { id: chatId, queue = [] } = owner.chat;
  owner.dispatch({ type: 'queued', chatId, queue: [...queue, question] });
}

/** Remove the question at `index` from the queue, and put its text back into the prompt box. */
export function dequeue(owner: QueueOwner, index: number): void {
  const { id: chatId, queue = [] } = owner.chat;
  owner.dispatch({ type: 'queued', chatId, queue: queue.filter((_, position) => position !== index) });
  owner.onInsertText(queue[index]?.text ?? '');
}

/**
 * Remove and return the next question of a chat whose turn has ended. Steering messages that the model did not read in
 * time come first, joined to one question, and then the first question of the queue.
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
