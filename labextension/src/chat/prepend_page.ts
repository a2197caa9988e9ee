/**
 * Puts an older page of a chat's history before the transcript that is shown. Pure.
 *
 * A page is a part of the history. A chat opens with its newest page only, however long the chat is. A cursor, which
 * the server creates, names the place between two pages: the older page ends there, and the newer one begins there.
 * This module knows no session: `fetch_page.ts` fetches the pages.
 */

import type { Transcript } from './transcript';
import type { HistoryPage } from './types';

/**
 * The least number of contents of a page: a few screens. The server adds the contents before them, back to the
 * beginning of their turn, so that no turn is cut.
 */
export const PAGE_SIZE = 120;

/**
 * Return the chat with an older page put before it. `older` is the transcript of the page. `endCursor` and
 * `startCursor` are the cursors of the places where the page ends and begins. If the chat no longer begins where the
 * page ends, return the chat unchanged.
 *
 * The transcript of each page counts its block keys from zero. So the keys of older blocks get the cursor of their page
 * as a prefix, to stay unique. The same prefix is needed in `endedTurns`, which tells by the key of a block which turn
 * ends with it. `subagents` has the ids of chats as keys, which are unique already.
 */
export function prependPage<T extends Transcript>(
  chat: T,
  older: Transcript,
  { endCursor, startCursor }: HistoryPage
): T {
  if (chat.startCursor !== endCursor) {
    return chat;
  }
  const prefixKey = (key: string): string => `${String(endCursor)}/${key}`;
  const ends = Object.entries(older.endedTurns ?? {}).map(([key, turn]) => [prefixKey(key), turn] as const);
  return {
    ...chat,
    startCursor,
    blocks: [...older.blocks.map(block => ({ ...block, key: prefixKey(block.key) })), ...chat.blocks],
    // A rating comes after its answer: on the same page, or on a newer one.
    ratings: { ...older.ratings, ...chat.ratings },
    endedTurns: { ...Object.fromEntries(ends), ...chat.endedTurns },
    subagents: { ...older.subagents, ...chat.subagents }
  };
}
