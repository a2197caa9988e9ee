/**
 * Finds the chats that wait for the user while the panel shows another chat. For example, a tool call that a cell with
 * `%%eca` has started may need approval. Pure.
 */

import type { State } from './state';
import type { ChatSummary } from '../wire/protocol';

/**
 * List the chats that wait for the user's decision or answer, except the chat that is shown. If the user may not
 * approve, none waits for the user.
 */
export function listWaitingChats(state: State): readonly ChatSummary[] {
  return state.rights?.approves === false
    ? []
    : state.list.filter(chat => chat.id !== state.current && waitsForUser(chat));
}

/** Whether a chat waits for a decision, an answer or a sign-in of the user. */
export function waitsForUser({ waiting, status }: ChatSummary): boolean {
  return waiting === true || status === 'login';
}
