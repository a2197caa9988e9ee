/** The card of a cell: what the kernel sends to it, what it shows, and what it sends back for a decision. */

import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test, vi } from 'vitest';

import { Session } from '../../src/chat/session';
import { createElement } from '../../src/view/common/element';
import { PendingDecisions } from '../../src/view/PendingDecisions';
import { EnvProvider } from '../../src/view/common/env';
import { createCardSession } from '../../src/widget/card';
import { WidgetModel } from '../../src/widget/anywidget_types';
import { untranslated } from '../../src/widget/untranslated';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}
interface Said {
  readonly channel: string;
  readonly open?: true;
  readonly messages?: readonly Message[];
}

const RESULTS: Readonly<Record<string, unknown>> = { initialize: {}, 'chat/list': { chats: [] } };

/** Opens the channel, answers requests, and tells when it is greeted. */
class Kernel implements WidgetModel {
  readonly said: Message[] = [];
  private readonly hearers = new Map<string, (told: unknown) => void>();
  private channel = '';

  get(): undefined {
    return undefined;
  }

  send(content: unknown): void {
    const { channel, open, messages = [] } = content as Said;
    if (open === true) {
      this.channel = channel;
      this.emit('msg:custom', { channel, opened: true, chat: 'c1' });
    }
    for (const message of messages) {
      this.said.push(message);
      if (message.method !== undefined && message.id !== undefined) {
        queueMicrotask(() => {
          this.tell({ id: message.id, result: RESULTS[message.method ?? ''] });
        });
      }
    }
  }

  tell(...messages: readonly object[]): void {
    this.emit('msg:custom', { channel: this.channel, messages: messages.map(one => ({ jsonrpc: '2.0', ...one })) });
  }

  content(content: object, more: object = {}): void {
    this.tell({ method: 'chat/contentReceived', params: { chatId: 'c1', role: 'assistant', content, ...more } });
  }

  on(event: string, callback: (...args: never[]) => void): void {
    this.hearers.set(event, callback as (told: unknown) => void);
  }

  off(event: string): void {
    this.hearers.delete(event);
  }

  emit(event: string, told?: unknown): void {
    this.hearers.get(event)?.(told);
  }
}

const DIFF = '--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n';
const RUN = {
  ...{ type: 'toolCallRun', id: '1', name: 'edit_file', server: 'ECA', origin: 'native', arguments: { path: 'a.py' } },
  remembers: ['edit_file in the top folder'],
  ...{ manualApproval: true, details: { type: 'fileChange', path: 'a.py', diff: DIFF, linesAdded: 1, linesRemoved: 1 } }
};
const RAN = { ...RUN, type: 'toolCalled', error: false, outputs: [], totalTimeMs: 1 };
const ASKED = { chatId: 'c1', question: 'Which?', options: [{ label: 'Ape' }], allowFreeform: true, toolCallId: '9' };

async function dealt(): Promise<{ kernel: Kernel; session: Session }> {
  const kernel = new Kernel();
  const session = createCardSession(kernel);
  await session.connect();
  expect(kernel.said.map(({ method }) => method)).toEqual(['initialize', 'initialized', 'chat/list']);
  kernel.said.length = 0;
  return { kernel, session };
}

function shown(session: Session): string {
  const nothing = (): void => undefined;
  const code = { target: undefined };
  const env = { trans: untranslated, code, markdown: () => Promise.resolve(), openPath: nothing, showCell: nothing };
  return renderToStaticMarkup(
    <EnvProvider value={env}>
      <PendingDecisions session={session} onDecide={nothing} />
    </EnvProvider>
  );
}

test('a waiting call is shown with its diff and its buttons, and disappears when it is decided', async () => {
  const { kernel, session } = await dealt();
  expect(shown(session)).toBe('');
  kernel.content(RUN);
  const html = shown(session);
  expect(html).toContain('aria-label="Tool call edit_file: needs approval"');
  expect(html).toContain('x = 2');
  const names = [...html.matchAll(/<button[^>]*eca-Button[^>]*>([^<]*)</g)].map(([, name]) => name);
  // Rules are not written through a kernel.
  expect(names).toEqual(['Approve', 'Approve for session: edits of files in the top folder', 'Reject…', 'Stop']);
  kernel.content(RAN);
  expect(shown(session)).toBe('');
});

test('a decision is sent for the chat of the call', async () => {
  const { kernel, session } = await dealt();
  kernel.content({ ...RUN, id: '2' }, { chatId: 'inner', parentChatId: 'c1' });
  expect(shown(session)).toContain('Tool call edit_file: needs approval');
  session.approve('2', true, 'inner');
  session.reject('1', 'too red');
  session.stop();
  expect(kernel.said.map(({ method, params }) => [method, params])).toEqual([
    ['chat/toolCallApprove', { chatId: 'inner', toolCallId: '2', save: 'session' }],
    ['chat/toolCallReject', { chatId: 'c1', toolCallId: '1', reason: 'too red' }],
    ['chat/promptStop', { chatId: 'c1' }]
  ]);
});

test('a question is shown with its options, and disappears when it is answered here or elsewhere', async () => {
  const { kernel, session } = await dealt();
  kernel.tell({ id: 'eca-1', method: 'chat/askQuestion', params: ASKED });
  const html = shown(session);
  expect(html).toContain('Which?');
  expect(html).toContain('Ape');
  session.answer(session.chat.questions[0]?.key ?? 0, { answer: 'Ape' });
  await vi.waitFor(() => {
    expect(kernel.said).toContainEqual({ jsonrpc: '2.0', id: 'eca-1', result: { answer: 'Ape' } });
  });
  expect(shown(session)).toBe('');
  kernel.tell({ id: 'eca-2', method: 'chat/askQuestion', params: ASKED });
  expect(shown(session)).toContain('Which?');
  kernel.tell({ method: '$/cancelRequest', params: { id: 'eca-2' } });
  expect(shown(session)).toBe('');
});

test('without the kernel there are no buttons', async () => {
  const { kernel, session } = await dealt();
  kernel.content(RUN);
  kernel.emit('comm_live_update');
  const html = shown(session);
  expect(html).toContain('The kernel does not answer');
  expect(html).not.toContain('<button');
  session.close();
});
