/**
 * Finds chats by their titles and by what was written in them.
 *
 * The page knows the titles, so it finds chats by their titles at once. The server searches the titles and the
 * messages. For each chat with a message that has the words, it returns an excerpt: a sentence of the newest such
 * message.
 */

import { ChatId, ChatSummary } from '../wire/protocol';
import { Session } from '../chat/session';

/** For each chat that the server has found, the sentence with the words; '' if only the title of the chat has them. */
export type Excerpts = ReadonlyMap<ChatId, string>;

/** Return the words of a query in lower case. */
export function splitQuery(query: string): readonly string[] {
  return query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
}

/** Return the chats whose title has all words of the query, and those that the server has found. */
export function filterChats(
  chats: readonly ChatSummary[],
  query: string,
  excerpts: Excerpts | undefined
): readonly ChatSummary[] {
  const words = splitQuery(query);
  return chats.filter(({ id, title = '' }) => {
    const name = title.toLocaleLowerCase();
    return excerpts?.has(id) === true || words.every(word => name.includes(word));
  });
}

/** Ask the server which chats have the words of a query. If that fails, show the error and return undefined. */
export async function searchChats(session: Session, query: string): Promise<Excerpts | undefined> {
  const result = await session.requestOrShowError('chat/list', { query });
  return result && new Map(result.chats.map(({ id, excerpt }) => [id, excerpt ?? '']));
}

/**
 * Cut a text into pieces that are a word of the query (`isMatch`), and pieces between them. For example, the text
 * `Read a file` and the query `file` give the pieces `Read a ` and `file`.
 */
export function markWords(
  text: string,
  query: string
): readonly { readonly text: string; readonly isMatch: boolean }[] {
  // These characters have a meaning in a regular expression, so a backslash is put before each of them.
  const words = splitQuery(query).map(word => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (words.length === 0) {
    return [{ text, isMatch: false }];
  }
  // `split` also returns the words that the group in the expression has matched. They have the odd indexes.
  const pieces = text.split(new RegExp(`(${words.join('|')})`, 'giu'));
  return pieces.map((piece, index) => ({ text: piece, isMatch: index % 2 === 1 })).filter(piece => piece.text !== '');
}
