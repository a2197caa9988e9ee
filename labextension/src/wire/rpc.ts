/**
 * Implements a JSON-RPC 2.0 peer: it numbers requests and matches answers to them, runs handlers for requests of the
 * other end, and lets both ends cancel requests. A cancellation has the form of LSP, the Language Server Protocol.
 *
 * This module knows no socket and no method. The link comes from `link.ts`, the tables of methods from `protocol.ts`.
 */

/** A connection that carries text both ways, one message at a time. */
export interface Link {
  /** Send one message. */
  send(text: string): void;
  /**
   * Set the functions that are called for each message, and when the link closes. Call it once, in the same turn of the
   * event loop in which the link was received, unless the link allows a later call.
   */
  listen(onMessage: (text: string) => void, onClose: () => void): void;
  close(): void;
}

/** Thrown when the link is closed, or could not be opened. */
export class LinkError extends Error {}

/** Thrown when the other end has answered a request with an error. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string
  ) {
    super(message);
  }
}

/** Error codes of JSON-RPC 2.0, section 5.1. The code for a cancelled request comes from LSP. */
export const Code = {
  parse: -32700,
  methodNotFound: -32601,
  internal: -32603,
  cancelled: -32800
} as const;

/**
 * The most characters of an answer. The server closes the connection when a message has more (`LARGEST_FRAME` in
 * `apps/server/websockets.py`), and all chats of the page would lose it. A notebook can have more in its outputs.
 */
export const MAX_ANSWER_LENGTH = 48 * 1024 * 1024;

/** The notification of LSP that cancels the request with its `id`. */
const CANCEL = '$/cancelRequest';

/** A table of methods: the parameters and the result of each. */
type MethodTable<T> = { [K in keyof T]: { params: unknown; result: unknown } };
/**
 * The names of the methods that are requests. A result of the type `void` marks a notification, not a request. The
 * brackets compare a union as a whole, and not each of its members.
 */
export type Requests<T extends MethodTable<T>> = {
  [K in keyof T]: [T[K]['result']] extends [void] ? never : K;
}[keyof T] &
  string;
/** The names of the methods that are notifications. */
export type Notifications<T extends MethodTable<T>> = Exclude<keyof T & string, Requests<T>>;

/** The id of a request. */
type Id = string | number;
/** The error in an answer. */
interface RpcFailure {
  readonly code: number;
  readonly message: string;
}
/** Any message: a request or notification has a method, an answer has none. */
interface RpcMessage {
  readonly id?: Id | null;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: RpcFailure;
}
/** The functions that settle the promise of a request. */
interface PendingRequest {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One end of a connection. `Ours` are the methods that this end calls, `Theirs` are those that it handles. The types of
 * messages are not checked here, because the types of both ends are generated from the same table.
 */
export class Peer<Ours extends MethodTable<Ours>, Theirs extends MethodTable<Theirs>> {
  /** Our requests that have no answer yet, by their ids. */
  private readonly pending = new Map<Id, PendingRequest>();
  /** The handlers of the methods of `Theirs`, by the names of the methods. */
  private readonly handlers = new Map<string, (params: unknown, signal: AbortSignal) => unknown>();
  /** The controllers that cancel the running requests of the other end, by the ids of the requests. */
  private readonly controllers = new Map<Id, AbortController>();
  /** The id of our last request. The first id is 1, so 0 can stand for an id that no request has. */
  private lastId = 0;
  /** Whether either end has closed the link. */
  private isClosed = false;

  /** `onClose` is called once when either end has closed the link. */
  constructor(
    private readonly link: Link,
    private readonly onClose: () => void = () => undefined
  ) {
    link.listen(
      text => void this.receive(text),
      () => {
        this.end();
      }
    );
  }

  /**
   * Send a request and wait for its answer. When `signal` aborts, the request is cancelled: the answer is then an
   * error, unless the answer was already on its way.
   *
   * Throws: RpcError when the answer is an error, LinkError when the link closes before it comes.
   */
  request<K extends Requests<Ours>>(
    method: K,
    params: Ours[K]['params'],
    signal?: AbortSignal
  ): Promise<Ours[K]['result']> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) {
        reject(new LinkError('the link is closed'));
        return;
      }
      if (signal?.aborted === true) {
        reject(new RpcError(Code.cancelled, 'the request was taken back'));
        return;
      }
      const id = ++this.lastId;
      this.pending.set(id, { resolve: resolve, reject });
      this.send({ id, method, params });
      signal?.addEventListener('abort', () => {
        if (this.pending.has(id)) {
          this.send({ method: CANCEL, params: { id } });
        }
      });
    });
  }

  /** Send a notification, which has no answer. */
  notify<K extends Notifications<Ours>>(method: K, params: Ours[K]['params']): void {
    this.send({ method, params });
  }

  /** Set the handler of a method. Its signal aborts when the other end cancels the request and needs no result. */
  handle<K extends keyof Theirs & string>(
    method: K,
    handler: (params: Theirs[K]['params'], signal: AbortSignal) => Theirs[K]['result'] | Promise<Theirs[K]['result']>
  ): void {
    this.handlers.set(method, handler);
  }

  /** Close the link. */
  close(): void {
    this.end();
    this.link.close();
  }

  /** Handle a message: an answer, a cancellation, a notification or a request. */
  private async receive(text: string): Promise<void> {
    const message = parseMessage(text);
    if (message === undefined) {
      this.send({ id: null, error: { code: Code.parse, message: 'not a JSON-RPC message' } });
    } else if (message.method === undefined) {
      this.settle(message);
    } else if (message.method === CANCEL) {
      this.controllers.get(readCancelledId(message.params) ?? 0)?.abort();
    } else if (message.id === undefined || message.id === null) {
      const { error } = await this.answer(message.method, message.params, new AbortController().signal);
      if (error?.code === Code.internal) {
        console.warn('ECA: a notification failed', message.method, error.message);
      }
    } else {
      const { id } = message;
      const controller = new AbortController();
      this.controllers.set(id, controller);
      const outcome = await this.answer(message.method, message.params, controller.signal);
      this.controllers.delete(id);
      if (!this.isClosed) {
        const error = { code: Code.cancelled, message: 'the request was taken back' };
        this.sendAnswer(id, controller.signal.aborted ? { error } : outcome);
      }
    }
  }

  /** Run the handler of a request. Return the result, or the error if there is no handler or the handler throws. */
  private async answer(
    method: string,
    params: unknown,
    signal: AbortSignal
  ): Promise<Pick<RpcMessage, 'result' | 'error'>> {
    const handler = this.handlers.get(method);
    if (handler === undefined) {
      return { error: { code: Code.methodNotFound, message: `no method ${method}` } };
    }
    try {
      return { result: (await handler(params, signal)) ?? null };
    } catch (error) {
      return { error: { code: Code.internal, message: error instanceof Error ? error.message : String(error) } };
    }
  }

  /** Pass an answer to the request that waits for it. */
  private settle({ id, result, error }: RpcMessage): void {
    const request = this.pending.get(id ?? 0);
    this.pending.delete(id ?? 0);
    if (error === undefined) {
      request?.resolve(result);
    } else {
      request?.reject(new RpcError(error.code, error.message));
    }
  }

  /** Call `onClose` and reject all pending requests, the first time that either end closes the link. */
  private end(): void {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    this.onClose();
    for (const { reject } of this.pending.values()) {
      reject(new LinkError('the link closed before the answer came'));
    }
    this.pending.clear();
  }

  /** Send the answer to a request. Send an error in its place if it is too large. */
  private sendAnswer(id: Id, outcome: Pick<RpcMessage, 'result' | 'error'>): void {
    const text = toJson({ id, ...outcome });
    if (text.length <= MAX_ANSWER_LENGTH) {
      this.link.send(text);
      return;
    }
    const size = String(Math.ceil(text.length / 1e6));
    const most = String(Math.floor(MAX_ANSWER_LENGTH / 1e6));
    const limit = `the answer has ${size} MB, and at most ${most} MB can be sent`;
    const message = `${limit}; if it is a notebook, clear its largest outputs`;
    this.send({ id, error: { code: Code.internal, message } });
  }

  /** Send a message as JSON. */
  private send(message: RpcMessage): void {
    this.link.send(toJson(message));
  }
}

/** Return the JSON of a message. */
function toJson(message: RpcMessage): string {
  return JSON.stringify({ jsonrpc: '2.0', ...message }, replaceLoneSurrogates);
}

/**
 * Replace half of a surrogate pair by a replacement character. For example, a text that was cut may end with half of an
 * emoji, and the server refuses such a text. `JSON.stringify` calls this function with each value.
 */
function replaceLoneSurrogates(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\uFFFD') : value;
}

/** Return the id of the request that a cancellation names; undefined when it names none. */
function readCancelledId(params: unknown): Id | undefined {
  return typeof params === 'object' && params !== null && 'id' in params ? (params.id as Id) : undefined;
}

/** Return the message; undefined when the text is not the JSON of an object. */
function parseMessage(text: string): RpcMessage | undefined {
  try {
    const data: unknown = JSON.parse(text);
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : undefined;
  } catch {
    return undefined;
  }
}
