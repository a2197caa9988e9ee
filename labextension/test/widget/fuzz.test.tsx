/** Damaged messages on the comm of a widget, and damaged states of it: code in the kernel can send any of them. */

import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test, vi } from 'vitest';

import { Session } from '../../src/chat/session';
import { createElement } from '../../src/view/common/element';
import { EnvProvider } from '../../src/view/common/env';
import { PendingDecisions } from '../../src/view/PendingDecisions';
import { WidgetModel } from '../../src/widget/anywidget_types';
import { createCardSession } from '../../src/widget/card';
import { openChannel } from '../../src/widget/channel';
import { untranslated } from '../../src/widget/untranslated';
import { countInputs, Dice } from '../support/dice';

const nothing = (): void => undefined;
/** The milliseconds after which a test counts as hanging. */
const PATIENCE_MS = 3_600_000;

// Each message that is ignored is named in the console.
vi.spyOn(console, 'warn').mockImplementation(nothing);

/** A model whose kernel opens the channel and answers requests. `channel` is that of the page. */
class Model implements WidgetModel {
  channel = '';
  private readonly callbacks = new Map<string, Set<(said: unknown) => void>>();

  get(): undefined {
    return undefined;
  }

  send(content: unknown): void {
    const { channel, open, messages = [] } = content as { channel: string; open?: true; messages?: { id?: number }[] };
    if (open === true) {
      this.channel = channel;
      this.emit({ channel, opened: true, chat: 'c1' });
    }
    for (const { id } of messages) {
      if (id !== undefined) {
        queueMicrotask(() => {
          this.emit({ channel, messages: [{ jsonrpc: '2.0', id, result: { chats: [] } }] });
        });
      }
    }
  }

  on(event: string, callback: (...args: never[]) => void): void {
    this.callbacks.set(event, (this.callbacks.get(event) ?? new Set()).add(callback as (said: unknown) => void));
  }

  off(event: string, callback: (...args: never[]) => void): void {
    this.callbacks.get(event)?.delete(callback as (said: unknown) => void);
  }

  emit(said: unknown): void {
    for (const callback of this.callbacks.get('msg:custom') ?? []) {
      callback(said);
    }
  }
}

const DIFF = '--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n';
const CALL = { id: '1', name: 'edit_file', server: 'ECA', origin: 'native', arguments: { path: 'a.py' } };
const CHANGE = { type: 'fileChange', path: 'a.py', diff: DIFF, linesAdded: 1, linesRemoved: 1 };
const CONTENTS = [
  { type: 'toolCallRun', ...CALL, manualApproval: true, details: CHANGE, remembers: ['edit_file here'] },
  { type: 'toolCallRunning', ...CALL, details: CHANGE },
  { type: 'toolCalled', ...CALL, error: false, outputs: [{ type: 'text', text: 'ok' }], totalTimeMs: 1 },
  { type: 'toolCallPrepare', ...CALL, argumentsText: '{"a' },
  { type: 'text', text: 'Hello' },
  { type: 'progress', state: 'finished' }
];
const SAMPLES: readonly object[] = [
  ...CONTENTS.map(content => ({
    method: 'chat/contentReceived',
    params: { chatId: 'c1', role: 'assistant', content, seq: 5 }
  })),
  {
    id: 'eca-1',
    method: 'chat/askQuestion',
    params: { chatId: 'c1', question: 'Which?', options: [{ label: 'Ape' }], allowFreeform: true }
  },
  { method: '$/cancelRequest', params: { id: 'eca-1' } },
  { method: 'chat/cleared', params: { chatId: 'c1', messages: true } },
  { method: 'chat/statusChanged', params: { chatId: 'c1', status: 'running' } },
  { method: '$/showMessage', params: { type: 'error', message: 'Oh.' } },
  { id: 1, result: { chats: [] } }
];

/** What a card shows. It throws what its views throw. */
function show(session: Session): string {
  const code = { target: undefined };
  const env = { trans: untranslated, code, markdown: () => Promise.resolve(), openPath: nothing, showCell: nothing };
  return renderToStaticMarkup(
    <EnvProvider value={env}>
      <PendingDecisions session={session} onDecide={nothing} />
    </EnvProvider>
  );
}

test(
  'a damaged message of the kernel breaks neither a card nor what it shows next',
  async () => {
    for (let seed = 0; seed < countInputs(300, 20_000); seed++) {
      const dice = new Dice(seed);
      const model = new Model();
      const session = createCardSession(model);
      await session.connect();
      try {
        for (let times = 0; times < 5; times++) {
          const message = { jsonrpc: '2.0', ...dice.pick(SAMPLES) };
          model.emit({ channel: model.channel, messages: [dice.roll() < 0.7 ? dice.damage(message) : message] });
          await Promise.resolve();
          show(session);
        }
      } catch (error) {
        throw new Error(`seed ${String(seed)}`, { cause: error });
      }
      session.close();
    }
  },
  PATIENCE_MS
);

test(
  'a damaged message on the comm of a widget is ignored, and the next one arrives',
  async () => {
    const ignored = { channel: 'one', opened: true, chat: 'c', messages: [{ id: 1 }], ping: true, why: 'w' };
    for (let seed = 0; seed < countInputs(5_000, 500_000); seed++) {
      const model = new Model();
      const { link } = await openChannel(model, 'one', () => nothing, nothing);
      const heard: string[] = [];
      link.listen(text => heard.push(text), nothing);
      model.emit(new Dice(seed).damage(ignored));
      model.emit({ channel: 'one', messages: [{ id: 2 }] });
      expect(heard.at(-1), `seed ${String(seed)}`).toBe('{"id":2}');
    }
  },
  PATIENCE_MS
);

test(
  'a damaged answer to the opening of a channel gives a chat that is a text',
  async () => {
    for (let seed = 0; seed < countInputs(2_000, 100_000); seed++) {
      const model = new Model();
      model.send = nothing;
      const opening = openChannel(model, 'one', () => nothing, nothing);
      model.emit(new Dice(seed).damage({ channel: 'one', opened: true, chat: 'c', resumed: true }));
      model.emit({ channel: 'one', opened: true, chat: '' });
      const { chat, resumed } = await opening;
      expect([typeof chat, typeof resumed], `seed ${String(seed)}`).toEqual(['string', 'boolean']);
    }
  },
  PATIENCE_MS
);
