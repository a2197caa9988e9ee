/** The cases of tests/fixtures/reducer, which a reducer in any other language can run as well. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { findPlan } from '../../src/chat/blocks';
import { ChatContentReceivedParams } from '../../src/wire/protocol';
import { Action, createState, reduce, State } from '../../src/chat/state';
import { QueuedMessage } from '../../src/chat/types';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures', 'reducer');

interface Case {
  readonly says: string;
  readonly messages: readonly { readonly method: string; readonly params: unknown }[];
  readonly chat: unknown;
}

function reduceAll(state: State, ...messages: Case['messages']): State {
  return messages.reduce((before, message) => reduce(before, { type: 'notification', ...message } as Action), state);
}

function text(words: string, seq: number): Case['messages'][number] {
  const params: ChatContentReceivedParams = {
    chatId: 'a',
    role: 'assistant',
    content: { type: 'text', text: words },
    seq
  };
  return { method: 'chat/contentReceived', params };
}

function words(state: State): string {
  return (state.chats.a?.blocks ?? []).map(block => ('text' in block ? block.text : '')).join('|');
}

describe('a chat', () => {
  for (const file of readdirSync(FOLDER)) {
    const { says, messages, chat } = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Case;
    test(`${file}: ${says}`, () => {
      expect(reduceAll(createState('a'), ...messages).chats.a).toEqual(chat);
    });
  }
});

describe('a replay', () => {
  test('of newer contents is shown when it is complete, once', () => {
    const before = reduceAll(createState('a'), text('one ', 4));
    const during = reduceAll(reduce(before, { type: 'replaying', chatId: 'a', whole: false }), text('two ', 5));
    expect(words(during)).toBe('one ');
    const after = reduce(reduceAll(during, text('three', 6)), { type: 'replayed', chatId: 'a', found: true });
    expect(words(reduceAll(after, text('three', 6)))).toBe('one two three');
  });

  test('discards what came on the new connection before it', () => {
    const before = reduce(reduceAll(createState('a'), text('one ', 4)), {
      type: 'replaying',
      chatId: 'a',
      whole: false
    });
    const after = reduceAll(before, text('three', 6), text('two ', 5), text('three', 6));
    expect(words(reduce(after, { type: 'replayed', chatId: 'a', found: true }))).toBe('one two three');
  });

  test('of the whole chat begins when the chat is cleared', () => {
    const before = reduce(reduceAll(createState('a'), text('one ', 4)), {
      type: 'replaying',
      chatId: 'a',
      whole: true
    });
    const cleared = { method: 'chat/cleared', params: { chatId: 'a', messages: true } };
    const after = reduceAll(before, text('two', 5), cleared, text('one two', 5));
    expect(words(after)).toBe('one ');
    expect(words(reduce(after, { type: 'replayed', chatId: 'a', found: true }))).toBe('one two');
  });

  test('of a deleted chat leaves what was shown', () => {
    const before = reduce(reduceAll(createState('a'), text('one', 4)), { type: 'replaying', chatId: 'a', whole: true });
    const after = reduce(before, { type: 'replayed', chatId: 'a', found: false });
    expect(words(after)).toBe('one');
    expect(after.chats.a?.replay).toBeUndefined();
  });
});

test('steering messages wait until the model has read them', () => {
  const faster: QueuedMessage = { text: 'faster', contexts: [], notebook: undefined };
  const inRed: QueuedMessage = { ...faster, text: 'in red' };
  const waiting = reduce(createState('a'), { type: 'steered', chatId: 'a', steers: [faster, inRed] });
  const params = { chatId: 'a', role: 'user', content: { type: 'text', text: 'faster' } };
  expect(reduceAll(waiting, { method: 'chat/contentReceived', params }).chats.a?.steers).toEqual([inRed]);
});

test('a broken connection removes its questions', () => {
  const question = { key: 1, chatId: 'a', question: 'Which?', allowFreeform: true };
  const asked = reduce(createState('a'), { type: 'asked', question });
  expect(asked.chats.a?.questions).toEqual([question]);
  expect(reduce(asked, { type: 'connection', connection: 'lost' }).chats.a?.questions).toEqual([]);
});

test('a question that was answered elsewhere is removed when its call has ended', () => {
  const question = { key: 1, chatId: 'a', question: 'Which?', toolCallId: 't', allowFreeform: true };
  const asked = reduce(createState('a'), { type: 'asked', question });
  const over = (id: string): Case['messages'][number] => {
    const call = { id, name: 'ask_user', server: 'ECA', origin: 'native', arguments: {} };
    const content = { type: 'toolCalled', ...call, error: false, outputs: [], totalTimeMs: 1 };
    return { method: 'chat/contentReceived', params: { chatId: 'a', role: 'assistant', content } };
  };
  expect(reduceAll(asked, over('another')).chats.a?.questions).toEqual([question]);
  expect(reduceAll(asked, over('t')).chats.a?.questions).toEqual([]);
});

test('a configuration without a model is recognised, and absent fields change nothing', () => {
  const empty = reduceAll(createState('a'), {
    method: 'config/updated',
    params: { chat: { models: [], agents: ['agent'] } }
  });
  expect(empty).toMatchObject({ configured: true, models: [], agents: ['agent'] });
  const chosen = reduceAll(empty, { method: 'config/updated', params: { chat: { selectModel: 'x/y' } } });
  expect(chosen).toMatchObject({ agents: ['agent'], selection: { model: 'x/y' } });
});

test('a deleted chat is removed, and the panel shows an empty one', () => {
  const before = reduceAll(createState('a'), text('one', 1));
  const after = reduceAll(before, { method: 'chat/deleted', params: { chatId: 'a' } });
  expect(after.chats.a?.blocks).toEqual([]);
});

describe('the list of changes', () => {
  const end = (turn: string, seq: number): Case['messages'][number] => ({
    method: 'chat/contentReceived',
    params: { chatId: 'a', role: 'system', content: { type: 'progress', state: 'finished' }, seq, turn }
  });

  test('is below the last block of its turn, also after a replay', () => {
    const live = reduceAll(createState('a'), text('one', 1), end('t', 2), text(' and two', 3));
    expect(live.chats.a?.endedTurns).toEqual({ b0: 't' });
    const replayed = reduce(
      reduceAll(reduce(live, { type: 'replaying', chatId: 'a', whole: true }), text('one', 1), end('t', 2)),
      { type: 'replayed', chatId: 'a', found: true }
    );
    expect(replayed.chats.a?.endedTurns).toEqual({ b0: 't' });
  });

  test('is the one that the server sent last for the chat', () => {
    const changes = [
      { id: 't:1', number: 1, turn: 't', path: 'a.py', type: 'file', kind: 'created' } as const,
      { id: 't:2', number: 2, turn: 't', path: 'b.py', type: 'file', kind: 'edited' } as const
    ];
    const before = reduce(createState('a'), { type: 'changesFetched', chatId: 'a', changes });
    expect(before.chats.a?.changes).toEqual(changes);
    const after = reduce(before, { type: 'changesFetched', chatId: 'a', changes: changes.slice(1) });
    expect(after.chats.a?.changes).toEqual(changes.slice(1));
    expect(reduce(after, { type: 'changesFetched', chatId: 'b', changes })).toEqual(after);
  });
});

describe('a plan', () => {
  const ended = (plan?: boolean): Case['messages'][number] => ({
    method: 'chat/contentReceived',
    params: {
      chatId: 'a',
      role: 'system',
      content: { type: 'progress', state: 'finished', text: '', ...(plan !== undefined && { plan }) }
    }
  });
  const listed = (status: string): Case['messages'][number] => ({
    method: 'chat/contentReceived',
    params: {
      chatId: 'a',
      role: 'assistant',
      content: {
        type: 'toolCalled',
        id: status,
        name: 'task',
        server: 'eca',
        origin: 'native',
        arguments: {},
        error: false,
        outputs: [],
        totalTimeMs: 0,
        details: { type: 'task', tasks: [{ id: '1', subject: 'Look', status }], inProgressTaskIds: [], summary: {} }
      }
    }
  });
  const asks: Case['messages'][number] = {
    method: 'chat/contentReceived',
    params: { chatId: 'a', role: 'user', content: { type: 'text', text: 'Next' } }
  };

  test('can be carried out until another turn has ended', () => {
    const planned = reduceAll(createState('a'), ended(true));
    expect(planned.chats.a?.hasProposedPlan).toBe(true);
    expect(reduceAll(planned, ended()).chats.a?.hasProposedPlan).toBeUndefined();
  });

  test('is the last list of tasks, and is removed with the next message when all tasks are done', () => {
    const of = (...messages: Case['messages']) =>
      findPlan(reduceAll(createState('a'), ...messages).chats.a?.blocks ?? []);
    expect(of(listed('pending'), listed('done'))?.tasks[0]?.status).toBe('done');
    expect(of(listed('pending'), asks)?.tasks[0]?.status).toBe('pending');
    expect(of(listed('done'), asks)).toBeUndefined();
    expect(of(asks)).toBeUndefined();
  });

  test('is there again after a reload, like the usage, although only the newest page is replayed', () => {
    const task = { id: '1', subject: 'Load', status: 'pending' } as const;
    const summary = { done: 0, inProgress: 0, pending: 1, total: 1 };
    const tasks = { type: 'task', tasks: [task], inProgressTaskIds: [], summary } as const;
    const usage = { type: 'usage', sessionTokens: 9, messageInputTokens: 9, messageOutputTokens: 0 } as const;
    const begun = reduce(createState('a'), { type: 'replaying', chatId: 'a', whole: true });
    const replayed = reduce(reduceAll(begun, asks), {
      type: 'replayed',
      chatId: 'a',
      found: true,
      startCursor: 7,
      usage,
      tasks
    });
    const chat = replayed.chats.a;
    expect(chat?.usage).toBe(usage);
    expect(findPlan(chat?.blocks ?? [], chat?.tasks)).toBe(tasks);
    const done = { ...tasks, tasks: [{ ...task, status: 'done' }] } as const;
    expect(findPlan(chat?.blocks ?? [], done)).toBeUndefined();
  });
});

test('the list says that a chat waits until its call is decided, also if the chat was never shown', () => {
  const row = { id: 'b', status: 'running', createdAt: 0, updatedAt: 0, messageCount: 1 } as const;
  const call = { id: 't', name: 'write_file', server: 'ECA', origin: 'native', arguments: {} } as const;
  const listed = reduce(createState('a'), { type: 'listed', chats: [row] });
  const send = (state: State, content: object): State =>
    reduceAll(state, { method: 'chat/contentReceived', params: { chatId: 'b', role: 'assistant', content } });
  const asked = send(listed, { ...call, type: 'toolCallRun', manualApproval: true });
  expect(asked.list[0]?.waiting).toBe(true);
  expect(send(asked, { ...call, type: 'toolCallRunning' }).list[0]?.waiting).toBe(false);
  const idle = { method: 'chat/statusChanged', params: { chatId: 'b', status: 'idle' } };
  expect(reduceAll(asked, idle).list[0]?.waiting).toBe(false);
});

test('a call names the call before it until that one has ended, and still names one that has failed', () => {
  const call = { id: '1', name: 'first', server: 'ECA', origin: 'native', arguments: {} } as const;
  const other = { ...call, id: '2', name: 'second' } as const;
  const send = (...contents: readonly object[]): State =>
    reduceAll(
      createState('a'),
      ...contents.map(content => ({
        method: 'chat/contentReceived',
        params: { chatId: 'a', role: 'assistant', content }
      }))
    );
  const waiting = [
    { ...call, type: 'toolCallRun', manualApproval: true },
    { ...other, type: 'toolCallRun', manualApproval: true, waitsFor: '1' }
  ];
  const findBlocker = (state: State): unknown => {
    const last = state.chats.a?.blocks.at(-1);
    return last?.kind === 'tool' ? last.waitsFor : undefined;
  };
  const end = { ...call, type: 'toolCalled', outputs: [], totalTimeMs: 1 };
  expect(findBlocker(send(...waiting))).toBe('first');
  expect(findBlocker(send(...waiting, { ...end, error: true }))).toBe('first');
  expect(findBlocker(send(...waiting, { ...end, error: false }))).toBeUndefined();
});

test('a call that was ready waits for approval again when nothing allows it any more', () => {
  const call = { id: '2', name: 'write_file', server: 'ECA', origin: 'native', arguments: {} } as const;
  const allowed = { kind: 'rule', rule: 'write_file' };
  const send = (...contents: readonly object[]): State =>
    reduceAll(
      createState('a'),
      ...contents.map(content => ({
        method: 'chat/contentReceived',
        params: { chatId: 'a', role: 'assistant', content: { ...call, ...content } }
      }))
    );
  const ready = { type: 'toolCallRun', manualApproval: false, cause: allowed, waitsFor: '1' };
  const asked = { type: 'toolCallRun', manualApproval: true, cause: { kind: 'default' }, waitsFor: '1' };
  const findStatus = (state: State): unknown => {
    const last = state.chats.a?.blocks.at(-1);
    return last?.kind === 'tool' ? [last.status, last.asked] : undefined;
  };
  expect(findStatus(send(ready))).toEqual(['ready', false]);
  expect(findStatus(send(ready, asked))).toEqual(['waiting', true]);
  expect(findStatus(send(ready, asked, { type: 'toolCallRunning' }))).toEqual(['running', true]);
});

test('an option that was chosen holds until the agent has answered', () => {
  const chosen = reduce(createState('a'), { type: 'optionChosen', chatId: 'a', option: 'model', value: 'l' });
  expect(chosen.chats.a?.chosenOptions).toEqual({ model: 'l' });
  const params = { chatId: 'a', chat: { agentOptions: [] } };
  expect(reduceAll(chosen, { method: 'config/updated', params }).chats.a?.chosenOptions).toEqual({});
});
