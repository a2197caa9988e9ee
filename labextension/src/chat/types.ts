/**
 * The types of data that a chat has beside its transcript.
 *
 * They are here because both `state.ts` and the modules that use it import them. This module knows no session and no
 * reducer. The functions are in `changes.ts` (changes), `queue.ts` (questions that wait) and `prepend_page.ts` (older pages).
 */

import type { ChatChangesResult, ChatContentReceivedParams, ChatContext } from '../wire/protocol';

/** One change of the assistant to a file or a cell, as the server lists it. */
export type Change = ChatChangesResult['changes'][number];

/**
 * A message that the model has not read yet. A steering message waits for the next request of the running turn to the
 * model, and a queued question for the end of the turn.
 */
export interface QueuedMessage {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
  /** The notebook that was in front when the user wrote it, see `Session.findActiveNotebook`. */
  readonly notebook: string | undefined;
}

/** A page of older contents. It belongs right before a place in the transcript, which the server names by a cursor. */
export interface HistoryPage {
  /** The cursor of the place before which the page belongs. */
  readonly at: string | number;
  /** The contents of the page, the oldest first. */
  readonly contents: readonly ChatContentReceivedParams[];
  /** The cursor of the place before which the next older page belongs; undefined if this page is the oldest. */
  readonly before?: string | number | undefined;
}
