/** What of a chat comes before what is shown: a chat of any length opens with its newest part, and the reader gets the rest. */

import type { ChatContentReceivedParams } from '../wire/protocol';
import type { Session } from './session';
import type { Chat, Transcript } from './state';

/** Contents, and then to the beginning of their turn: some screens of them. */
export const PAGE = 120;

/** A page of a chat, which comes before the place `at`; before the page there is more if `before` says where. */
export interface Earlier {
  readonly at: string | number;
  readonly contents: readonly ChatContentReceivedParams[];
  readonly before?: string | number | undefined;
}

const asking = new WeakSet<Transcript>();

/** Fetches the next page, once. */
export async function fetchEarlier(session: Session, chat: Chat): Promise<void> {
  const { id: chatId, before: at } = chat;
  if (at === undefined || asking.has(chat)) {
    return;
  }
  asking.add(chat);
  const found = await session.ask('chat/history', { chatId, before: at, limit: PAGE });
  asking.delete(chat);
  if (found !== undefined) {
    // A place that is gone has nothing before it that could be shown.
    const before = found.error === undefined ? found.meta?.beforeCursor : undefined;
    session.act({ type: 'earlier', chatId, page: { at, contents: found.contents, before } });
  }
}

/** With the page's transcript before it, unless it has moved meanwhile. Keys of older pages carry their place. */
export function withEarlier<T extends Transcript>(chat: T, older: Transcript, { at, before }: Earlier): T {
  if (chat.before !== at) {
    return chat;
  }
  const keyed = (key: string): string => `${String(at)}/${key}`;
  const ends = Object.entries(older.ends ?? {}).map(([key, turn]) => [keyed(key), turn] as const);
  return {
    ...chat,
    before,
    blocks: [...older.blocks.map(block => ({ ...block, key: keyed(block.key) })), ...chat.blocks],
    ends: { ...Object.fromEntries(ends), ...chat.ends },
    agents: { ...older.agents, ...chat.agents }
  };
}
