/**
 * The queue of a chat: questions that are sent when the running turn has ended. A turn is the work of the assistant
 * from a question to its answer. The queue is kept in the page only, and is lost when the page is closed.
 *
 * A steering message is different: it is sent to the running turn at once. If that turn ends before the model has read
 * it, `takeNext` treats it as the next question. This module knows no connection: the session sends the questions.
 */

import type { Action, Chat } from './state';
import type { QueuedMessage } from './types';
import type { ChatContext } from '../wire/protocol';

/** The parts of a `Session` that this module uses. */
export interface QueueOwner {
  /** The chat that is shown. */
  readonly chat: Chat;
  /** Called with text that goes back to the prompt box. */
  readonly onInsertText: (text: string, contexts?: readonly ChatContext[]) => void;
  dispatch(action: Action): void;
  /** Returns the path of the active notebook; undefined in a page that cannot open notebooks. See `Session`. */
  findActiveNotebook(): string | undefined;
}

/**
 * Add a question to the queue of the chat that is shown. The question keeps the notebook that is active now, because
 * the user may go to another notebook before the question is sent. The action `queued` replaces the whole queue, here
 * and below.
 */
export function enqueue(owner: QueueOwner, text: string, contexts: readonly ChatContext[]): void {
  const { id: chatId, queue = [] } = owner.chat;
  const question = { text, contexts, notebook: owner.findActiveNotebook() };
  owner.dispatch({ type: 'queued', chatId, queue: [...queue, question] });
}

/**
 * Give the question at `index` back to the user: remove it from the queue, and put its text back into the prompt box.
 */
export function dequeue(owner: QueueOwner, index: number): void {
  const { id: chatId, queue = [] } = owner.chat;
  owner.dispatch({ type: 'queued', chatId, queue: queue.filter((_, position) => position !== index) });
  owner.onInsertText(queue[index]?.text ?? '', queue[index]?.contexts);
}

/**
 * Remove and return the next question of a chat whose turn has ended; undefined when none waits.
 *
 * Steering messages that the model did not read in time come first. They are joined into one question, with the
 * notebook of the last of them. The action `steered` replaces the whole list of these messages. After them comes the
 * first question of the queue.
 */
export function takeNext(owner: QueueOwner, chat: Chat): QueuedMessage | undefined {
  const { id: chatId, steers, queue = [] } = chat;
  const last = steers.at(-1);
  if (last !== undefined) {
    owner.dispatch({ type: 'steered', chatId, steers: [] });
    const text = steers.map(steer => steer.text).join('\n\n');
    return { text, contexts: steers.flatMap(({ contexts }) => contexts), notebook: last.notebook };
  }
  const [first, ...rest] = queue;
  if (first !== undefined) {
    owner.dispatch({ type: 'queued', chatId, queue: rest });
  }
  return first;
}
