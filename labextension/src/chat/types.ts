/**
 * The kinds of data that the state of a chat holds beside its transcript.
 *
 * Knows no session and no reducer, so that `state.ts` and the modules that act on it can both import it. What can be
 * done with changes is in `changes.ts`, with questions that wait in `queue.ts`, with older pages in `pages.ts`.
 */

import type { ChatChangesResult, ChatContentReceivedParams, ChatContext } from '../wire/protocol';

/** One change of the assistant to a file or a cell, as the server lists it. */
export type Change = ChatChangesResult['changes'][number];

/** A question that is asked when the turn under way has ended. */
export interface Queued {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
}

/** A page of a chat's history: the contents that come right before a place in the transcript. */
export interface Earlier {
  /** The place before which the page stands. */
  readonly at: string | number;
  readonly contents: readonly ChatContentReceivedParams[];
  /** The place before which the next older page stands; undefined on the first page of the chat. */
  readonly before?: string | number | undefined;
}
