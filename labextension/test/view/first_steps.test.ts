/** The first steps: which provider a key belongs to, and when they are shown. */

import { expect, test } from 'vitest';

import {
  guessProvider,
  listKeyProviders,
  listSignInProviders,
  needsFirstRun
} from '../../src/view/first_run/first_steps';
import { LoginMethod, ProviderLogin, ProviderStatus } from '../../src/wire/protocol';

const MANUAL: LoginMethod = { key: 'manual', label: 'Enter an API key' };
const BROWSER: LoginMethod = { key: 'browser', label: 'Sign in in the browser' };

function provider(id: string, login: ProviderLogin): ProviderStatus {
  return { id, configured: false, auth: { status: 'unauthenticated' }, models: [], login };
}

const PROVIDERS: readonly ProviderStatus[] = [
  provider('openai', { methods: [MANUAL], keyPrefixes: ['sk-proj-', 'sk-'] }),
  provider('deepseek', { methods: [MANUAL], keyPrefixes: ['sk-'] }),
  provider('anthropic', { methods: [MANUAL], keyPrefixes: ['sk-ant-'] }),
  provider('openrouter', { methods: [BROWSER, MANUAL], keyPrefixes: ['sk-or-'] }),
  provider('azure', { methods: [MANUAL], asksForUrl: true })
];

test('the longest beginning decides which provider a key belongs to', () => {
  expect(guessProvider('sk-ant-abc', PROVIDERS)).toBe('anthropic');
  expect(guessProvider('  sk-or-abc\n', PROVIDERS)).toBe('openrouter');
  expect(guessProvider('sk-proj-abc', PROVIDERS)).toBe('openai');
  expect(guessProvider('sk-abc', PROVIDERS)).toBe('openai');
  expect(guessProvider('abc', PROVIDERS)).toBeUndefined();
});

test('a provider that also wants an address is not offered for a key alone', () => {
  expect(listKeyProviders(PROVIDERS).map(({ id }) => id)).toEqual(['openai', 'deepseek', 'anthropic', 'openrouter']);
  expect(listSignInProviders(PROVIDERS).map(({ id }) => id)).toEqual(['openrouter']);
});

test('the first steps are shown without a model, and with the small one until somebody has worked with it', () => {
  const bundled = { model: 'local/small', installed: true, size: 0, commands: [] };
  expect(needsFirstRun([], undefined, 3)).toBe(true);
  expect(needsFirstRun(['local/small'], bundled, 0)).toBe(true);
  expect(needsFirstRun(['local/small'], bundled, 1)).toBe(false);
  expect(needsFirstRun(['local/small'], undefined, 0)).toBe(false);
  expect(needsFirstRun(['local/small', 'house/big'], bundled, 0)).toBe(false);
});
