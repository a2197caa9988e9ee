import { expect, test } from 'vitest';

import { AnswerRating, ChatContentReceivedParams, Role } from '../../src/wire/protocol';
import { createState, reduce, State } from '../../src/chat/state';

function said(turn: number, role: Role, text: string, seq: number): ChatContentReceivedParams {
  return { chatId: 'c', turn: `t${String(turn)}`, role, content: { type: 'text', text }, seq };
}

function done(turn: number, seq: number): ChatContentReceivedParams {
  const content = { type: 'progress', state: 'finished', text: '' } as const;
  return { chatId: 'c', turn: `t${String(turn)}`, role: 'system', content, seq };
}

function opened(): State {
  const contents = [said(2, 'user', 'two', 7), said(2, 'assistant', 'zwei', 8), done(2, 9)];
  let state = reduce(createState('c'), { type: 'replaying', chatId: 'c', whole: true });
  for (const params of contents) {
    state = reduce(state, { type: 'notification', method: 'chat/contentReceived', params });
  }
  return reduce(state, { type: 'replayed', chatId: 'c', found: true, startCursor: 7 });
}

const PAGE = { endCursor: 7, contents: [said(1, 'user', 'one', 4), said(1, 'assistant', 'eins', 5), done(1, 6)] };

function words(state: State): readonly string[] {
  return (state.chats.c?.blocks ?? []).map(block => ('text' in block ? block.text : ''));
}

test('an older page is put before what is shown, with the ends of its turns and a unique key for each block', () => {
  const { chats } = reduce(opened(), { type: 'pageFetched', chatId: 'c', page: PAGE });
  const keys = chats.c?.blocks.map(({ key }) => key) ?? [];
  expect(new Set(keys).size).toBe(4);
  expect(chats.c?.endedTurns).toEqual({ [String(keys[1])]: 't1', [String(keys[3])]: 't2' });
  expect(chats.c?.seq).toBe(9);
  expect(chats.c?.startCursor).toBeUndefined();
});

test('a page that arrives twice or too late changes nothing', () => {
  const once = reduce(opened(), { type: 'pageFetched', chatId: 'c', page: PAGE });
  expect(words(reduce(once, { type: 'pageFetched', chatId: 'c', page: PAGE }))).toEqual(['one', 'eins', 'two', 'zwei']);
  const cleared = reduce(opened(), {
    type: 'notification',
    method: 'chat/cleared',
    params: { chatId: 'c', messages: true }
  });
  expect(words(reduce(cleared, { type: 'pageFetched', chatId: 'c', page: PAGE }))).toEqual([]);
});

test('the last rating of an answer counts, also when the answer is on an older page than the rating', () => {
  const rate = (rating?: AnswerRating): State['chats'] => {
    const content = { type: 'rating', contentId: 'm1', ...(rating && { rating }) } as const;
    const params = { chatId: 'c', role: 'system', content, seq: 10 } as const;
    const later = reduce(opened(), { type: 'notification', method: 'chat/contentReceived', params });
    const older = { chatId: 'c', role: 'system', content: { ...content, rating: 'good' }, seq: 6 } as const;
    return reduce(later, { type: 'pageFetched', chatId: 'c', page: { ...PAGE, contents: [...PAGE.contents, older] } })
      .chats;
  };
  expect(rate('bad').c?.ratings).toEqual({ m1: 'bad' });
  expect(rate().c?.ratings).toEqual({ m1: null });
});
