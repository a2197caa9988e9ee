import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { NOTIFICATION_PARAMS } from '../../src/wire/protocol';
import { findMisfit } from '../../src/wire/validate';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures', 'wire');

interface Fixture {
  readonly method: string;
  readonly sender: string;
  readonly params?: unknown;
}

const MODELS: Readonly<Record<string, string>> = NOTIFICATION_PARAMS;
const told = readdirSync(FOLDER)
  .map(name => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Fixture)
  .filter(({ method, sender, params }) => sender === 'server' && params !== undefined && method in NOTIFICATION_PARAMS);

test('every message of the server fits its model', () => {
  expect(told.length).toBeGreaterThan(30);
  expect(told.filter(({ method, params }) => findMisfit(MODELS[method] ?? '', params) !== undefined)).toEqual([]);
});

test('a message with one value of another type does not fit, unless the value does not matter', () => {
  const wrong: unknown = { nothing: 'of the kind' };
  const missed = told.flatMap(({ method, params }) =>
    Object.keys(params as object)
      .filter(key => typeof (params as Record<string, unknown>)[key] !== 'object')
      .filter(key => findMisfit(MODELS[method] ?? '', { ...(params as object), [key]: wrong }) === undefined)
      .map(key => `${method} ${key}`)
  );
  expect(missed).toEqual([]);
});

test('the path of the wrong value is returned', () => {
  const content = { type: 'usage', sessionTokens: 'many', messageInputTokens: 1, messageOutputTokens: 1 };
  expect(findMisfit('ChatContentReceivedParams', { chatId: 'c', role: 'system', content })).toBe(
    '.content.sessionTokens'
  );
  expect(findMisfit('JobsListResult', { jobs: [3] })).toBe('.jobs[0]');
  expect(findMisfit('ShowMessageParams', undefined)).toBe('');
});

test('unknown content and unknown fields fit', () => {
  const params = { chatId: 7, role: 'system', content: { type: 'hologram', depth: 3 }, mood: 'good' };
  expect(findMisfit('ChatContentReceivedParams', params)).toBeUndefined();
});
