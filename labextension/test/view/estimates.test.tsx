/** Estimates of a prompt: what is requested from the server, and what the panel shows. */

import { nullTranslator } from '@jupyterlab/translation';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { estimatePrompt, Estimate, estimateWithRequest } from '../../src/chat/estimates';
import { fetchWholeOutput } from '../../src/chat/tool_output';
import { createElement } from '../../src/view/common/element';
import { ChatContext, ClientMethods, ServerMethods } from '../../src/wire/protocol';
import { Code, Peer, RpcError } from '../../src/wire/rpc';
import { Session } from '../../src/chat/session';
import { EnvProvider } from '../../src/view/common/env';
import { EstimateFigures } from '../../src/view/composer/Estimate';
import { createLinks } from '../support/memory_link';

const nothing = (): void => undefined;
const IMAGE: ChatContext = { type: 'image', mediaType: 'image/png', base64: 'AAAA' };
const NOTE: ChatContext = { type: 'text', label: 'note', content: 'x' };
const OUTPUT = 'one two three four';

type Asked = ClientMethods['chat/estimate']['params'];

async function met(refuses = false): Promise<[Session, Asked[]]> {
  const [ours, theirs] = createLinks();
  const server = new Peer<ServerMethods, ClientMethods>(theirs);
  const heard: Asked[] = [];
  const defaults = { chatDefaultModel: 'a/b', chatBehaviors: [], chatDefaultBehavior: '', chatWelcomeMessage: '' };
  server.handle('initialize', () => ({ models: ['a/b'], ...defaults }));
  server.handle('chat/list', () => ({ chats: [] }));
  server.handle('chat/estimate', params => {
    heard.push(params);
    if (refuses) {
      throw new RpcError(Code.methodNotFound, 'no method chat/estimate');
    }
    return { model: 'a/b', inputTokens: 1234, cost: 0.0012, ...(params.request && { request: '{}' }) };
  });
  server.handle('chat/toolOutput', ({ offset = 0 }) => {
    const text = OUTPUT.slice(offset, offset + 5);
    return { text, offset, end: offset + text.length, total: OUTPUT.length };
  });
  const session = new Session({ open: () => Promise.resolve(ours), createId: () => 'a', callLater: () => nothing });
  await session.connect();
  return [session, heard];
}

test('an estimate while typing sends no image and does not ask for the exact request', async () => {
  const [session, heard] = await met();
  expect(await estimatePrompt(session, 'Why?', [IMAGE, NOTE])).toMatchObject({ inputTokens: 1234 });
  expect(heard[0]?.contexts).toEqual([NOTE]);
  expect(heard[0]).not.toHaveProperty('request');
});

test('the exact request contains everything that would be sent', async () => {
  const [session, heard] = await met();
  expect((await estimateWithRequest(session, 'Why?', [IMAGE, NOTE]))?.request).toBe('{}');
  expect(heard[0]?.contexts).toEqual([IMAGE, NOTE]);
});

test('a server without estimates causes no message while typing', async () => {
  const [session] = await met(true);
  expect(await estimatePrompt(session, 'Why?', [])).toBeUndefined();
  expect(session.state.messages).toEqual([]);
});

test('an output that was too long is fetched part by part', async () => {
  const [session] = await met();
  expect(await fetchWholeOutput(session, 't')).toBe(OUTPUT);
});

function figures(estimate: Partial<Estimate>): string {
  const env = { trans: nullTranslator.load('') };
  const rest = { markdown: () => Promise.resolve(), openPath: nothing, showCell: nothing };
  return renderToStaticMarkup(
    <EnvProvider value={{ ...env, ...rest }}>
      <EstimateFigures estimate={{ model: 'a/b', inputTokens: 1234, ...estimate }} />
    </EnvProvider>
  ).replace(/<[^>]*>/g, '|');
}

test('tokens and cost are shown, and an unknown cost is called unknown', () => {
  expect(figures({ cost: 0.0012, contextLimit: 8000 })).toBe('|≈ 1.2k tokens||0.0012 USD + answer|');
  expect(figures({})).toBe('|≈ 1.2k tokens||price unknown|');
});

test('a prompt over the limit of the model is marked', () => {
  expect(figures({ cost: 0, contextLimit: 1000 })).toContain('≈ 1.2k tokens, more than the limit of 1k');
});
