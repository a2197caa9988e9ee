/** The keys of a decision: what they mean, and which calls they are for. */

import { expect, test } from 'vitest';

import { ToolBlock } from '../../src/chat/blocks';
import { Chat, createChat } from '../../src/chat/state';
import { listWaitingCalls, readDecisionKey, selectUnchangedCalls } from '../../src/view/tools/decision_keys';

function call(id: string, more: Partial<ToolBlock> = {}): ToolBlock {
  const common = { kind: 'tool', key: id, name: 'shell_command', server: 'ECA', origin: 'native' } as const;
  return { ...common, id, status: 'waiting', argumentsText: '', arguments: {}, outputs: [], ...more };
}

function chat(...blocks: readonly ToolBlock[]): Chat {
  return { ...createChat('c'), blocks };
}

const PRESSED = {
  key: 'Enter',
  ctrlKey: true,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  repeat: false,
  field: 'none'
} as const;

test('each key has its decision, and none while a text is edited or a key is held down', () => {
  expect(readDecisionKey(PRESSED)).toBe('approve');
  expect(readDecisionKey({ ...PRESSED, ctrlKey: false, metaKey: true })).toBe('approve');
  expect(readDecisionKey({ ...PRESSED, shiftKey: true })).toBe('approveAll');
  expect(readDecisionKey({ ...PRESSED, key: 'Backspace' })).toBe('reject');
  expect(readDecisionKey({ ...PRESSED, ctrlKey: false })).toBeUndefined();
  expect(readDecisionKey({ ...PRESSED, repeat: true })).toBeUndefined();
  expect(readDecisionKey({ ...PRESSED, key: 'Backspace', field: 'text' })).toBeUndefined();
  expect(readDecisionKey({ ...PRESSED, field: 'text' })).toBeUndefined();
  expect(readDecisionKey({ ...PRESSED, altKey: true })).toBeUndefined();
});

test('in the empty prompt box a key approves, but Backspace still only deletes words', () => {
  const pressed = { ...PRESSED, field: 'empty prompt' } as const;
  expect(readDecisionKey(pressed)).toBe('approve');
  expect(readDecisionKey({ ...pressed, shiftKey: true })).toBe('approveAll');
  expect(readDecisionKey({ ...pressed, key: 'Backspace' })).toBeUndefined();
});

test('all that is shown is approved, and nothing that came later or is no longer what was shown', () => {
  const [first, second, third] = [call('1'), call('2'), call('3')];
  const shown = listWaitingCalls(chat(first, second, third, call('4', { status: 'running' })));
  expect(shown.map(({ block }) => block.id)).toEqual(['1', '2', '3']);
  const now = chat(first, call('2', { arguments: { command: 'rm -r .' } }), { ...third, status: 'done' }, call('5'));
  expect(selectUnchangedCalls(shown, now).map(({ block }) => block.id)).toEqual(['1']);
  expect(selectUnchangedCalls(shown, { ...chat(first), id: 'other' })).toEqual([]);
});

test('the calls of a subagent are approved in their own chat', () => {
  const subagent = { ...createChat('sub'), blocks: [call('2')] };
  const both: Chat = { ...chat(call('1')), subagents: { sub: subagent } };
  expect(listWaitingCalls(both).map(({ block, chatId }) => [block.id, chatId])).toEqual([
    ['1', 'c'],
    ['2', 'sub']
  ]);
});
