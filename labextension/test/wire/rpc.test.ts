import { expect, test } from 'vitest';

import { Code, LinkError, MAX_ANSWER_LENGTH, Peer, RpcError } from '../../src/wire/rpc';
import { createLinks } from '../support/memory_link';

interface Asking {
  double: { params: { n: number }; result: number };
  shutdown: { params: Record<string, never>; result: null };
  said: { params: { text: string }; result: void };
}
interface Nothing {
  never: { params: null; result: void };
}

function peers(): [Peer<Asking, Nothing>, Peer<Nothing, Asking>] {
  const [left, right] = createLinks();
  return [new Peer<Asking, Nothing>(left), new Peer<Nothing, Asking>(right)];
}

test('a request is answered by the handler of the other end', async () => {
  const [asking, answering] = peers();
  answering.handle('double', ({ n }) => 2 * n);
  expect(await asking.request('double', { n: 21 })).toBe(42);
});

test('half of an emoji is sent as a replacement character', async () => {
  const [left, right] = createLinks();
  const sent = new Promise<string>(resolve => {
    right.listen(resolve, () => undefined);
  });
  new Peer<Asking, Nothing>(left).notify('said', { text: 'caf\ud83d \ud83d\ude00' });
  expect(JSON.parse(await sent)).toMatchObject({ params: { text: 'caf\ufffd \ud83d\ude00' } });
});

test('answers in another order are matched to their requests', async () => {
  const [asking, answering] = peers();
  let release = (): void => undefined;
  const held = new Promise<void>(resolve => (release = resolve));
  answering.handle('double', async ({ n }) => {
    await (n === 1 ? held : undefined);
    return 2 * n;
  });
  const slow = asking.request('double', { n: 1 });
  expect(await asking.request('double', { n: 2 })).toBe(4);
  release();
  expect(await slow).toBe(2);
});

test('a handler without a result answers null', async () => {
  const [left, right] = createLinks();
  const asking = new Peer<Asking, Nothing>(left);
  new Peer<Nothing, { shutdown: { params: unknown; result: void } }>(right).handle('shutdown', () => undefined);
  expect(await asking.request('shutdown', {})).toBeNull();
});

test('a request that nobody handles is an error that says so', async () => {
  const [asking] = peers();
  await expect(asking.request('double', { n: 1 })).rejects.toMatchObject({
    code: Code.methodNotFound,
    message: 'no method double'
  });
});

test('a handler that throws is answered with an error', async () => {
  const [asking, answering] = peers();
  answering.handle('double', () => {
    throw new Error('no numbers today');
  });
  const asked = asking.request('double', { n: 1 });
  await expect(asked).rejects.toThrow(RpcError);
  await expect(asked).rejects.toThrow('no numbers today');
});

test('a notification arrives and has no answer', async () => {
  const [asking, answering] = peers();
  const heard = new Promise(resolve => {
    answering.handle('said', ({ text }) => {
      resolve(text);
    });
  });
  asking.notify('said', { text: 'hello' });
  expect(await heard).toBe('hello');
});

test('a notification that nobody handles is ignored', async () => {
  const [asking, answering] = peers();
  answering.handle('double', ({ n }) => 2 * n);
  asking.notify('said', { text: 'hello' });
  expect(await asking.request('double', { n: 1 })).toBe(2);
});

test('text that is not a message is answered with a parse error', async () => {
  const [left, right] = createLinks();
  new Peer<Nothing, Asking>(right);
  const answer = new Promise<string>(resolve => {
    left.listen(resolve, () => undefined);
  });
  left.send('[not json');
  expect(JSON.parse(await answer)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: Code.parse } });
});

test('a closing link rejects the requests that wait for an answer', async () => {
  const [left, right] = createLinks();
  const asking = new Peer<Asking, Nothing>(left);
  const asked = asking.request('double', { n: 1 });
  right.close();
  await expect(asked).rejects.toThrow(LinkError);
});

test('a closed peer refuses a request', async () => {
  const [asking] = peers();
  asking.close();
  await expect(asking.request('double', { n: 1 })).rejects.toThrow(LinkError);
});

test('a cancelled request aborts its handler, and is answered with the code for cancelling', async () => {
  const [link, other] = createLinks();
  const answered: string[] = [];
  link.listen(
    text => answered.push(text),
    () => undefined
  );
  const answering = new Peer<Nothing, Asking>(other);
  answering.handle(
    'double',
    (_, taken) =>
      new Promise(resolve => {
        taken.addEventListener('abort', () => {
          resolve(0);
        });
      })
  );
  link.send(JSON.stringify({ jsonrpc: '2.0', id: 'q', method: 'double', params: { n: 1 } }));
  link.send(JSON.stringify({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: 'q' } }));
  await expect.poll(() => answered).toHaveLength(1);
  expect(JSON.parse(answered[0] ?? '')).toMatchObject({ id: 'q', error: { code: Code.cancelled } });
});

test('cancelling a request notifies the other end, and the answer says that it was cancelled', async () => {
  const [asking, answering] = peers();
  answering.handle('double', (_, taken) => {
    return new Promise<number>(resolve => {
      taken.addEventListener('abort', () => {
        resolve(0);
      });
    });
  });
  const taking = new AbortController();
  const asked = asking.request('double', { n: 1 }, taking.signal);
  taking.abort();
  await expect(asked).rejects.toMatchObject({ code: Code.cancelled });
  await expect(asking.request('double', { n: 2 }, taking.signal)).rejects.toMatchObject({ code: Code.cancelled });
});

test('an answer that is larger than the server takes is answered with an error, and the link stays open', async () => {
  const [left, right] = createLinks();
  const asking = new Peer<{ read: { params: null; result: string } }, Nothing>(left);
  const answering = new Peer<Nothing, { read: { params: null; result: string } }>(right);
  answering.handle('read', () => 'x'.repeat(MAX_ANSWER_LENGTH));
  await expect(asking.request('read', null)).rejects.toMatchObject({ code: Code.internal });
  answering.handle('read', () => 'small');
  expect(await asking.request('read', null)).toBe('small');
});
