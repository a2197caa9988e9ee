/** The search of the list of chats. */

import { expect, test } from 'vitest';

import { filterChats, markWords } from '../../src/chats/search';
import { ChatId, ChatSummary } from '../../src/wire/protocol';

const CHATS: readonly ChatSummary[] = ['Merge of two tables', 'A plot', undefined].map((title, id) => ({
  id,
  ...(title !== undefined && { title }),
  status: 'idle',
  createdAt: 0,
  updatedAt: 0,
  messageCount: 1
}));

function find(query: string, excerpts?: ReadonlyMap<ChatId, string>): readonly ChatId[] {
  return filterChats(CHATS, query, excerpts).map(({ id }) => id);
}

test('titles are found at once, and messages when the server has answered', () => {
  expect(find('tables MERGE')).toEqual([0]);
  expect(find('tables merge', new Map([[1, 'Merge the tables first.']]))).toEqual([0, 1]);
  expect(find('rows', new Map([[2, 'The rows are lost.']]))).toEqual([2]);
  expect(find('  ')).toEqual([0, 1, 2]);
});

test('the words of the query are marked in the sentence', () => {
  const pieces = markWords('The Rows (of a.b) are rows.', 'rows a.b)');
  expect(pieces.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(['Rows', 'a.b)', 'rows']);
  expect(pieces.map(({ text }) => text).join('')).toBe('The Rows (of a.b) are rows.');
});
