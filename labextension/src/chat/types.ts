/**
 * Defines the types of data that a chat has beside its transcript.
 *
 * Both `state.ts` and the modules that use `state.ts` import these types. This module knows no session and no reducer.
 * The functions are in `changes.ts` (changes), `queue.ts` (messages that wait) and `prepend_page.ts` (older pages).
 */

import type { ChatChangesResult, ChatContentReceivedParams, ChatContext, ChatId } from '../wire/protocol';

/** One change of the assistant to a file or a cell, as the server lists it. */
export type Change = ChatChangesResult['changes'][number];

/**
 * A message that the model has not read yet. A steering message waits for the next request of the running turn to the
 * model. A queued message waits for the end of the turn.
 */
export interface QueuedMessage {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
  /** The notebook that was active when the user wrote the message, see `Session.findActiveNotebook`. */
  readonly notebook: string | undefined;
}

/** A chat that the user has deleted and can still bring back. */
export interface DeletedChat {
  readonly chatId: ChatId;
  /** Whether the panel showed the chat when it was deleted. */
  readonly isShown: boolean;
  /** What was typed in the chat and not sent. */
  readonly draft: { readonly text: string; readonly contexts: readonly ChatContext[] };
}

/** A page of older contents. A cursor of the server names the place in the history where a page begins or ends. */
export interface HistoryPage {
  /** The cursor of the place where the page ends. */
  readonly endCursor: string | number;
  /** The contents of the page, the oldest first. */
  readonly contents: readonly ChatContentReceivedParams[];
  /** The cursor of the place where the page begins; undefined if this page is the oldest. */
  readonly startCursor?: string | number | undefined;
}
