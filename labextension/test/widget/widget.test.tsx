/** The widget's end of the comm, which pages share, and the note about a kernel that does not answer. */

import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { createElement } from '../../src/view/common/element';
import { LinkError } from '../../src/wire/rpc';
import { openChannel } from '../../src/widget/channel';
import { WidgetModel } from '../../src/widget/anywidget_types';
import { KernelLostNote } from '../../src/widget/WidgetPanel';
import { untranslated } from '../../src/widget/untranslated';

/** A model that one or more pages show: what the kernel says, all of them hear. */
class Model implements WidgetModel {
  readonly sent: Record<string, unknown>[] = [];
  private readonly callbacks = new Map<string, Set<(said: unknown) => void>>();

  get(): undefined {
    return undefined;
  }

  send(content: unknown): void {
    this.sent.push(content as Record<string, unknown>);
  }

  on(event: string, callback: (...args: never[]) => void): void {
    this.callbacks.set(event, (this.callbacks.get(event) ?? new Set()).add(callback as (said: unknown) => void));
  }

  off(event: string, callback: (...args: never[]) => void): void {
    this.callbacks.get(event)?.delete(callback as (said: unknown) => void);
  }

  emit(event: string, said?: unknown): void {
    for (const callback of this.callbacks.get(event) ?? []) {
      callback(said);
    }
  }

  get listeners(): number {
    return [...this.callbacks.values()].reduce((sum, set) => sum + set.size, 0);
  }
}

const never = (): (() => void) => () => undefined;
const nothing = (): void => undefined;

test('a page receives the messages of its own channel, in order, and of no other', async () => {
  const model = new Model();
  const one = openChannel(model, 'one', never, nothing);
  const two = openChannel(model, 'two', never, nothing);
  expect(model.sent).toEqual([
    { channel: 'one', open: true },
    { channel: 'two', open: true }
  ]);
  model.emit('msg:custom', { channel: 'one', opened: true, chat: 'c1' });
  model.emit('msg:custom', { channel: 'two', opened: true, chat: 'c1', resumed: true });
  const [{ link, chat, resumed }, other] = [await one, await two];
  expect([chat, resumed, other.resumed]).toEqual(['c1', false, true]);
  const heard: string[] = [];
  link.listen(text => heard.push(text), nothing);
  other.link.listen(text => heard.push(`other ${text}`), nothing);
  model.emit('msg:custom', { channel: 'one', messages: [{ id: 1 }, { id: 2 }] });
  expect(heard).toEqual(['{"id":1}', '{"id":2}']);
  link.send('{"id":3}');
  expect(model.sent.at(-1)).toEqual({ channel: 'one', messages: [{ id: 3 }] });
});

test('a page answers a ping', () => {
  const model = new Model();
  void openChannel(model, 'one', never, nothing);
  model.emit('msg:custom', { channel: 'one', ping: true });
  expect(model.sent.at(-1)).toEqual({ channel: 'one' });
});

test.each(['comm_live_update', 'destroy'])('a comm that is lost (%s) closes the link, once', async event => {
  const model = new Model();
  const opening = openChannel(model, 'one', never, nothing);
  model.emit('msg:custom', { channel: 'one', opened: true, chat: '' });
  const { link } = await opening;
  let closed = 0;
  link.listen(nothing, () => closed++);
  model.emit(event);
  model.emit(event);
  link.close();
  expect([closed, model.listeners]).toEqual([1, 0]);
});

test('after a comm is lost before it was opened the page tries again; after a refusal of the kernel it does not', async () => {
  const model = new Model();
  const lost = openChannel(model, 'one', never, nothing);
  model.emit('comm_live_update');
  await expect(lost).rejects.toBeInstanceOf(LinkError);
  const refused = openChannel(model, 'two', never, nothing);
  model.emit('msg:custom', { channel: 'two', closed: true, why: 'The configuration is wrong.' });
  const error: unknown = await refused.catch((reason: unknown) => reason);
  expect(error).not.toBeInstanceOf(LinkError);
  expect(error).toEqual(new Error('The configuration is wrong.'));
});

test('a silent kernel is reported, and may answer later', async () => {
  const model = new Model();
  const calls: (() => void)[] = [];
  let silent = 0;
  const later = (call: () => void): (() => void) => {
    calls.push(call);
    return nothing;
  };
  const opening = openChannel(model, 'one', later, () => silent++);
  calls[0]?.();
  expect(silent).toBe(1);
  model.emit('msg:custom', { channel: 'one', opened: true, chat: 'c' });
  expect((await opening).chat).toBe('c');
});

test('a panel without its kernel says that it is a record, and how to continue', () => {
  const code = { target: undefined };
  const env = { trans: untranslated, code, markdown: () => Promise.resolve(), openPath: nothing, showCell: nothing };
  const record = renderToStaticMarkup(<KernelLostNote env={env} chatId="abc" />);
  expect(record).toContain('this is a record');
  expect(record).toContain('<code>%load_ext jupyter_eca\n%eca panel abc</code>');
  expect(renderToStaticMarkup(<KernelLostNote env={env} chatId="" />)).not.toContain('record');
});

test('untranslated words are filled in as Lab fills them in', () => {
  expect(untranslated.__('%1 of %2', 'a', 2)).toBe('a of 2');
  expect(untranslated.__('100 %%')).toBe('100 %');
  expect(untranslated._n('%1 change', '%1 changes', 1)).toBe('1 change');
  expect(untranslated._n('%1 change', '%1 changes', 3)).toBe('3 changes');
});
