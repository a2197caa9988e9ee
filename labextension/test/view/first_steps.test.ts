/** The first steps: which provider a key belongs to, and when they are shown. */

import { expect, test } from 'vitest';

import { Session } from '../../src/chat/session';
import {
  FirstSteps,
  guessProvider,
  listKeyProviders,
  listSignInProviders,
  needsFirstRun
} from '../../src/view/first_run/first_steps';
import {
  ClientMethods,
  LoginMethod,
  ProviderLogin,
  ProviderStatus,
  ProvidersTryResult,
  ServerMethods
} from '../../src/wire/protocol';
import { Peer } from '../../src/wire/rpc';
import { createLinks } from '../support/memory_link';

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

/** Connect to a server that takes each key, and tries it with this result. Return what the server is asked. */
async function meet(result: ProvidersTryResult): Promise<readonly [FirstSteps, unknown[]]> {
  const [ours, theirs] = createLinks();
  const server = new Peer<ServerMethods, ClientMethods>(theirs);
  const asked: unknown[] = [];
  const defaults = { chatDefaultModel: 'a/b', chatBehaviors: [], chatDefaultBehavior: '', chatWelcomeMessage: '' };
  server.handle('initialize', () => ({ models: ['a/b'], ...defaults }));
  server.handle('chat/list', () => ({ chats: [] }));
  server.handle('providers/loginInput', ({ provider }) => {
    asked.push(['enter', provider]);
    return { action: 'done' };
  });
  server.handle('providers/try', ({ provider }) => {
    asked.push(['try', provider]);
    return result;
  });
  server.handle('providers/logout', ({ provider }) => {
    asked.push(['forget', provider]);
    return {};
  });
  const session = new Session({
    open: () => Promise.resolve(ours),
    createId: () => 'a',
    callLater: () => () => undefined
  });
  await session.connect();
  return [new FirstSteps(session), asked];
}

test('a key that the provider refuses when it is tried is forgotten', async () => {
  const [steps, asked] = await meet({ outcome: 'refused', model: 'a/b', message: 'No auth credentials' });
  expect((await steps.useKey('a', 'sk-wrong')).outcome).toBe('refused');
  expect(asked).toEqual([
    ['enter', 'a'],
    ['try', 'a'],
    ['forget', 'a']
  ]);
});

test('a key without credit is kept', async () => {
  const [steps, asked] = await meet({ outcome: 'no-credit', model: 'a/b', message: 'Insufficient credits' });
  expect((await steps.useKey('a', 'sk-right')).outcome).toBe('no-credit');
  expect(asked).toEqual([
    ['enter', 'a'],
    ['try', 'a']
  ]);
});
