/** The groups of the list of chats. */

import { expect, test } from 'vitest';

import { findAge, getChatState, groupChats, Grouping, PINNED } from '../../src/chats/groups';
import { ChatSummary } from '../../src/wire/protocol';

const NOW = new Date(2026, 2, 31, 9, 30).getTime();
const DAY_MS = 86_400_000;

function chat(id: string, fields: Partial<ChatSummary> = {}): ChatSummary {
  return { id, status: 'idle', createdAt: 0, updatedAt: NOW, messageCount: 1, ...fields };
}

function group(
  chats: readonly ChatSummary[],
  grouping: Grouping,
  activeNotebook?: string,
  pinned: ReadonlySet<string> = new Set()
): readonly string[] {
  return groupChats(chats, grouping, { now: NOW, activeNotebook, pinned }).map(
    ({ key, chats }) => `${key}: ${chats.map(({ id }) => id).join(' ')}`
  );
}

test('a chat that waits for the user is in no other state', () => {
  expect(getChatState(chat('a', { status: 'running', waiting: true }))).toBe('waiting');
  expect(getChatState(chat('a', { status: 'login' }))).toBe('waiting');
  expect(getChatState(chat('a', { status: 'stopping', outcome: 'failed' }))).toBe('running');
  expect(getChatState(chat('a', { outcome: 'failed' }))).toBe('failed');
  expect(getChatState(chat('a', { outcome: 'stopped' }))).toBe('done');
  expect(getChatState(chat('a'))).toBe('done');
});

test('the notebook in activeNotebook comes first, and chats without a notebook last', () => {
  const chats = [
    chat('1'),
    chat('2', { notebook: 'b.ipynb' }),
    chat('3', { notebook: 'a.ipynb' }),
    chat('4', { notebook: 'b.ipynb' })
  ];
  expect(group(chats, 'notebook')).toEqual(['b.ipynb: 2 4', 'a.ipynb: 3', ': 1']);
  expect(group(chats, 'notebook', 'a.ipynb')).toEqual(['a.ipynb: 3', 'b.ipynb: 2 4', ': 1']);
  expect(group(chats, 'notebook', 'other.ipynb')).toEqual(['b.ipynb: 2 4', 'a.ipynb: 3', ': 1']);
});

test('pinned chats come first in each grouping', () => {
  const chats = [chat('1'), chat('2', { notebook: 'a.ipynb' }), chat('3', { notebook: 'a.ipynb' })];
  const pinned = new Set(['1', '3', 'gone']);
  for (const [grouping, others] of [
    ['notebook', 'a.ipynb: 2'],
    ['date', 'today: 2'],
    ['state', 'done: 2']
  ] as const) {
    expect(group(chats, grouping, 'a.ipynb', pinned)).toEqual([`${PINNED}: 1 3`, others]);
  }
});

test('what needs the user comes first', () => {
  const chats = [chat('1'), chat('2', { outcome: 'failed' }), chat('3', { status: 'running' })];
  const waiting = chat('4', { status: 'running', waiting: true });
  expect(group([...chats, waiting], 'state')).toEqual(['waiting: 4', 'running: 3', 'failed: 2', 'done: 1']);
});

test('a day begins at midnight, also after the night in which the clock was changed', () => {
  expect(findAge(new Date(2026, 2, 31, 0, 0).getTime(), NOW)).toBe('today');
  expect(findAge(new Date(2026, 2, 30, 23, 59).getTime(), NOW)).toBe('yesterday');
  expect(findAge(new Date(2026, 2, 29, 23, 59).getTime(), NOW)).toBe('week');
  expect(findAge(NOW - 20 * DAY_MS, NOW)).toBe('month');
  expect(findAge(NOW - 200 * DAY_MS, NOW)).toBe('older');
  const chats = [chat('1'), chat('2', { updatedAt: NOW - 200 * DAY_MS }), chat('3', { updatedAt: NOW - DAY_MS })];
  expect(group(chats, 'date')).toEqual(['today: 1', 'yesterday: 3', 'older: 2']);
});
