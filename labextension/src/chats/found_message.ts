/**
 * Finds the message of a chat that a search has found, so that the chat opens there. The search of the server names only
 * the chat; `search.ts` sends it.
 *
 * This module knows no view: `view/transcript/Transcript.tsx` shows the message.
 */

import type { Block, Blocks } from '../chat/blocks';
import { fetchOlderPage } from '../chat/fetch_page';
import type { Session } from '../chat/session';
import type { ChatId } from '../wire/protocol';
import { splitQuery } from './search';

/** A message that a search has found. */
export interface FoundMessage {
  readonly chatId: ChatId;
  /** The key of its block. */
  readonly key: string;
  /** The words of the query, in lower case. */
  readonly words: readonly string[];
}

/**
 * Open a chat, and return its newest message that has all words of the query, which may be empty. As with the server, this is a message of
 * the user, an answer, or a question. Older pages of the chat are fetched until it is there. Undefined if there is none,
 * and if the user goes to another chat meanwhile.
 */
export async function openFoundChat(
  session: Session,
  chatId: ChatId,
  query: string
): Promise<FoundMessage | undefined> {
  const words = splitQuery(query);
  await session.openChat(chatId);
  while (words.length > 0 && session.chat.id === chatId) {
    const { blocks, startCursor } = session.chat;
    const block = findNewestMessage(blocks, words);
    if (block !== undefined) {
      return { chatId, key: block.key, words };
    }
    await fetchOlderPage(session, session.chat);
    if (startCursor === undefined || session.chat.startCursor === startCursor) {
      return undefined;
    }
  }
  return undefined;
}

/** Return the newest message that has all words, which are in lower case; undefined if there is none. */
export function findNewestMessage(blocks: Blocks, words: readonly string[]): Block | undefined {
  return words.length === 0
    ? undefined
    : blocks.findLast(block => {
        const text = getText(block).toLocaleLowerCase();
        return text !== '' && words.every(word => text.includes(word));
      });
}

/** Return the text of a message; empty for a block that is no message. */
function getText(block: Block): string {
  return block.kind === 'user' || block.kind === 'text' || block.kind === 'system' ? block.text : '';
}
