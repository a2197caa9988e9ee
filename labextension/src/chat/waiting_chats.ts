/**
 * Finds the chats that the user should know of while the panel shows another chat. Some wait for the user: for example,
 * a tool call that a cell with `%%eca` has started may need approval. In others somebody else asks about the notebook
 * that the user has open. Pure.
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

/**
 * List the running chats in which somebody else has asked about the notebook at `path`, except the chat that is shown.
 * None is listed if the server does not tell its users apart.
 */
export function listChatsOfOthers(state: State, path: string | undefined): readonly ChatSummary[] {
  return state.user === undefined || path === undefined
    ? []
    : state.list.filter(
        chat =>
          chat.id !== state.current &&
          chat.status === 'running' &&
          chat.notebook === path &&
          chat.askedBy !== undefined &&
          chat.askedBy.username !== state.user?.username
      );
}
