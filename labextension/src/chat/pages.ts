/**
 * Puts an older page of a chat's history before the transcript that is shown. Pure.
 *
 * Even a long chat opens with only its newest page. This module knows no session: `history_page.ts` fetches the
 * pages.
 */

import type { Transcript } from './transcript';
import type { HistoryPage } from './types';

/**
 * A page has at least this many contents, which are a few screens. The server adds the rest of the first turn, so that no
 * turn is cut.
 */
export const PAGE = 120;

/**
 * Return the chat with an older page put before it. `older` is the transcript of the page. If the chat no longer begins
 * where the page ends, return the chat unchanged. The keys of older blocks get the cursor of their page as a prefix, so
 * that they stay unique.
 */
export function prependPage<T extends Transcript>(chat: T, older: Transcript, { at, before }: HistoryPage): T {
  if (chat.before !== at) {
    return chat;
  }
  const prefixKey = (key: string): string => `${String(at)}/${key}`;
  const ends = Object.entries(older.ends ?? {}).map(([key, turn]) => [prefixKey(key), turn] as const);
  return {
    ...chat,
    before,
    blocks: [...older.blocks.map(block => ({ ...block, key: prefixKey(block.key) })), ...chat.blocks],
    ends: { ...Object.fromEntries(ends), ...chat.ends },
    agents: { ...older.agents, ...chat.agents }
  };
}
