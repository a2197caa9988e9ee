/** What helps after a failure. */

import { expect, test } from 'vitest';

import { addContent } from '../../src/chat/blocks';
import { findSettingsSection, listRemedies } from '../../src/view/transcript/remedies';
import { FailureKind } from '../../src/wire/protocol';

test('a text with the mark of a failure is a block of its own', () => {
  const failure = { kind: 'auth', model: 'far/m' } as const;
  const [block] = addContent([], { chatId: 'c', role: 'system', content: { type: 'text', text: 'No key.', failure } });
  expect(block).toMatchObject({ kind: 'failure', text: 'No key.', failure });
});

test('a refused key needs a sign-in first, and a busy server only another attempt', () => {
  expect(listRemedies('auth')[0]).toBe('signIn');
  expect(listRemedies('overloaded')[0]).toBe('retry');
});

test('a budget that a gateway has refused is not tried again', () => {
  expect(listRemedies('budget-exceeded')).toEqual(['model']);
});

test('a kind that a newer server sends counts as any other failure', () => {
  expect(listRemedies('something-new' as FailureKind)).toEqual(listRemedies('other'));
});

test('a budget is changed where the cost is shown', () => {
  expect(findSettingsSection('budget')).toBe('costs');
  expect(findSettingsSection('auth')).toBe('providers');
});
