/** Requests for ghost text, over the WebSocket of a server that the test plays. */

import type { ServerConnection } from '@jupyterlab/services';
import { beforeAll, expect, test, vi } from 'vitest';

import { CompletionLink } from '../../src/inline/completion_link';

/** The state of an open WebSocket. Node.js has no `WebSocket` before version 22. */
const OPEN = 1;

beforeAll(() => {
  vi.stubGlobal('WebSocket', { OPEN });
});

interface Sent {
  readonly id?: number;
  readonly method?: string;
}

/** The server's end: it accepts the connection, and answers a completion when the test says so. */
class Server {
  /** The methods of all messages that were received. */
  readonly received: (string | undefined)[] = [];
  private readonly requests: Sent[] = [];
  private arrive: () => void = () => undefined;
  private deliver: (message: object) => void = () => undefined;

  /** `welcome`: the answer to `initialize`. */
  constructor(private readonly welcome: object = {}) {}

  /** The settings of Lab, whose WebSocket leads here. */
  get settings(): ServerConnection.ISettings {
    const accept = (deliver: (message: object) => void): ((message: Sent) => void) => {
      this.deliver = deliver;
      return message => {
        this.receive(message);
      };
    };
    class Socket {
      readonly readyState = OPEN;
      onopen?: () => void;
      onmessage?: (event: { readonly data: string }) => void;
      private readonly pass = accept(message => {
        this.onmessage?.({ data: JSON.stringify({ jsonrpc: '2.0', ...message }) });
      });

      constructor() {
        queueMicrotask(() => this.onopen?.());
      }

      send(text: string): void {
        this.pass(JSON.parse(text) as Sent);
      }
    }
    return { wsUrl: 'ws://server', token: '', appendToken: false, WebSocket: Socket } as never;
  }

  /** The next request for a completion. */
  async next(): Promise<Sent> {
    const request = this.requests.shift();
    if (request !== undefined) {
      return request;
    }
    await new Promise<void>(resolve => {
      this.arrive = resolve;
    });
    return this.next();
  }

  answer({ id }: Sent, text: string): void {
    this.deliver({ id, result: { items: [{ text, docVersion: 1, range: {} }] } });
  }

  private receive(message: Sent): void {
    this.received.push(message.method);
    if (message.method === 'initialize') {
      queueMicrotask(() => {
        this.deliver({ id: message.id, result: this.welcome });
      });
    } else if (message.method === 'completion/inline') {
      this.requests.push(message);
      this.arrive();
    }
  }
}

test('an answer that was on its way when its request was cancelled is dropped', async () => {
  const server = new Server();
  const link = new CompletionLink(server.settings);
  const controller = new AbortController();
  const first = link.request({ docText: 'x = ', position: { line: 1, character: 5 } }, controller.signal);
  const request = await server.next();
  controller.abort();
  server.answer(request, '1');
  expect(await first).toEqual([]);
  const second = link.request({ docText: 'y = ', position: { line: 1, character: 5 } }, new AbortController().signal);
  server.answer(await server.next(), '2');
  expect(await second).toEqual(['2']);
});

test('nothing is requested for a user who may only read', async () => {
  const server = new Server({ rights: { asks: false, approves: false, reason: 'Ada asks here.' } });
  const link = new CompletionLink(server.settings);
  const document = { docText: 'x = ', position: { line: 1, character: 5 } };
  expect(await link.request(document, new AbortController().signal)).toEqual([]);
  expect(server.received).toEqual(['initialize', 'initialized']);
});

test('completions are requested for a user who may ask and not approve', async () => {
  const server = new Server({ rights: { asks: true, approves: false, reason: 'Ada approves here.' } });
  const link = new CompletionLink(server.settings);
  const texts = link.request({ docText: 'x = ', position: { line: 1, character: 5 } }, new AbortController().signal);
  server.answer(await server.next(), '1');
  expect(await texts).toEqual(['1']);
});
