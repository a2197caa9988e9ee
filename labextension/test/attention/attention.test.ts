/** When a chat needs a user who looks at another tab, and what the tab shows then. */

import { expect, test } from 'vitest';

import { Activities, chooseMark, listActivities, listNeeds } from '../../src/attention/attention';
import { markTitle } from '../../src/attention/title_mark';
import { createState, reduce, State } from '../../src/chat/state';
import { ChatState } from '../../src/chats/groups';

function activities(states: Readonly<Record<string, ChatState>>): Activities {
  return new Map(Object.entries(states).map(([id, state]) => [id, { state, title: `Title of ${id}` }]));
}

test('an answer that ends or waits needs the user once', () => {
  const began = activities({ a: 'running', b: 'running', c: 'waiting', d: 'done' });
  const now = activities({ a: 'done', b: 'waiting', c: 'failed', d: 'done', e: 'waiting' });
  expect(listNeeds(began, now).map(({ chatId, reason }) => `${chatId} ${reason}`)).toEqual([
    'a ended',
    'b waiting',
    'c ended',
    'e waiting'
  ]);
  expect(listNeeds(now, now)).toEqual([]);
});

test('a chat that was done when it was first seen needs nobody', () => {
  expect(listNeeds(new Map(), activities({ a: 'done', b: 'failed', c: 'running' }))).toEqual([]);
});

test('what waits for the user comes first in the title, then an answer that was not seen', () => {
  expect(chooseMark(activities({ a: 'running', b: 'waiting' }), true)).toBe('waiting');
  expect(chooseMark(activities({ a: 'running' }), true)).toBe('ended');
  expect(chooseMark(activities({ a: 'running', b: 'done' }), false)).toBe('running');
  expect(chooseMark(activities({ b: 'failed' }), false)).toBe('none');
});

test('a title has one mark, which goes without a trace', () => {
  const running = markTitle('sales.ipynb - JupyterLab', 'running');
  expect(running).not.toBe('sales.ipynb - JupyterLab');
  const waiting = markTitle(running, 'waiting');
  expect(waiting.endsWith('sales.ipynb - JupyterLab')).toBe(true);
  expect(waiting.includes('⋯')).toBe(false);
  expect(markTitle(waiting, 'none')).toBe('sales.ipynb - JupyterLab');
});

test('a call that needs approval does not wait for a user who may not approve', () => {
  const listed = { id: 'a', status: 'running', waiting: true, createdAt: 0, updatedAt: 0, messageCount: 1 } as const;
  let state: State = reduce(createState('new'), { type: 'listed', chats: [listed] });
  expect(listActivities(state).get('a')?.state).toBe('waiting');
  state = reduce(state, { type: 'welcomed', rights: { asks: true, approves: false, reason: '' } });
  expect(listActivities(state).get('a')?.state).toBe('running');
});

test('the chat that is shown counts before the server lists it', () => {
  let state: State = createState('new');
  expect(listActivities(state).get('new')?.state).toBe('done');
  state = reduce(state, {
    type: 'notification',
    method: 'chat/statusChanged',
    params: { chatId: 'new', status: 'running' }
  });
  expect(listActivities(state).get('new')?.state).toBe('running');
});

test('a chat of the list that is not shown counts, too', () => {
  const times = { createdAt: 0, updatedAt: 0, messageCount: 1 };
  const state = reduce(createState('shown'), {
    type: 'listed',
    chats: [{ id: 'other', title: 'Load the data', status: 'running', waiting: true, ...times }]
  });
  expect(listActivities(state).get('other')).toEqual({ state: 'waiting', title: 'Load the data' });
});
