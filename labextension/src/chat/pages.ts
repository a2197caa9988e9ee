/**
 * Joins a page of a chat's history to the transcript that is shown. Pure.
 *
 * A chat of any length opens with its newest page. Knows no session: `history_page.ts` fetches the pages.
 */

import type { Transcript } from './transcript';
import type { Earlier } from './types';

/** How many contents a page has at least: a few screens. The server adds those up to the beginning of their turn. */
export const PAGE = 120;

/**
 * Return the chat with the older transcript before its own, or the chat itself when it does not begin where the page
 * ends any more. Keys of older blocks get the place of their page as a prefix, so that they stay unique.
 */
export function withEarlier<T extends Transcript>(chat: T, older: Transcript, { at, before }: Earlier): T {
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
