import { expect, test } from 'vitest';

import { Offer } from '../../src/chat/offers';
import { enqueue } from '../../src/chat/queue';
import { askAgain } from '../../src/chat/rollback';
import { PAGE_SIZE } from '../../src/chat/prepend_page';
import {
  ChatContentReceivedParams,
  ChatSelection,
  ClientMethods,
  Content,
  InitializeResult,
  Role,
  ServerMethods
} from '../../src/wire/protocol';
import { Code, Link, LinkError, Peer, RpcError } from '../../src/wire/rpc';
import { NotebookHost } from '../../src/wire/client';
import { Session, SessionEnvironment } from '../../src/chat/session';
import { createLinks } from '../support/memory_link';

type Heard = readonly [method: string, params: unknown];

/** A server that answers what a panel asks, and notes it. */
class Server {
  readonly heard: Heard[] = [];
  /** What new chats begin with. */
  remembered: ChatSelection = { variants: [], trust: false };
  readonly peer: Peer<ServerMethods, ClientMethods>;
  constructor(
    link: Link,
    private readonly chats: readonly { id: string; status: 'running' | 'idle' }[] = [],
    private readonly welcome: Pick<InitializeResult, 'rights' | 'user'> = {}
  ) {
    this.peer = new Peer(link);
    const note = <K extends keyof ClientMethods>(
      method: K,
      answer: (params: ClientMethods[K]['params']) => ClientMethods[K]['result']
    ): void => {
      this.peer.handle(method, params => {
        this.heard.push([method, params]);
        return answer(params);
      });
    };
    note('initialize', () => ({
      ...this.welcome,
      models: [],
      chatDefaultModel: '',
      chatBehaviors: [],
      chatDefaultBehavior: '',
      chatWelcomeMessage: ''
    }));
    note('chat/list', () => ({
      chats: this.chats.map(chat => ({ ...chat, createdAt: 0, updatedAt: 0, messageCount: 1 }))
    }));
    note('chat/selection', () => this.remembered);
    note('chat/prompt', ({ chatId }) => ({ chatId: chatId ?? '', model: 'm', status: 'prompting' }));
    note('chat/open', ({ chatId, after }) => {
      this.say(chatId, 'assistant', { type: 'text', text: after === undefined ? 'all' : ' and more' }, 9);
      return { found: true };
    });
    for (const method of [
      'chat/promptStop',
      'chat/toolCallApprove',
      'chat/promptSteer',
      'chat/promptSteerRemove',
      'mcp/connectServer',
      'chat/selectedModelChanged',
      'chat/selectedAgentChanged'
    ] as const) {
      note(method, () => undefined);
    }
  }

  say(chatId: string | number, role: Role, content: Content, seq: number): void {
    const params: ChatContentReceivedParams = { chatId, role, content, seq };
    this.peer.notify('chat/contentReceived', params);
  }

  of(method: string): readonly unknown[] {
    return this.heard.filter(([name]) => name === method).map(([, params]) => params);
  }
}

/** A world whose clock is turned by hand. Each connection is to the next server; without one it is refused. */
class TestWorld implements SessionEnvironment {
  readonly servers: Server[] = [];
  readonly chats: { id: string; status: 'running' | 'idle' }[] = [];
  refuses = false;
  /** What the server says about the user. */
  welcome: Pick<InitializeResult, 'rights' | 'user'> = {};
  private readonly waiting = new Set<() => void>();
  private ids = 0;
  /** The notebooks of the page; undefined as long as it has none. */
  notebooks?: NotebookHost;

  open(): Promise<Link> {
    if (this.refuses) {
      return Promise.reject(new LinkError('refused'));
    }
    const [left, right] = createLinks();
    this.servers.push(new Server(right, this.chats, this.welcome));
    return Promise.resolve(left);
  }

  /** Put a notebook in front. */
  goTo(path: string): void {
    const unused = (): never => {
      throw new Error('not used');
    };
    const rest = {
      read: unused,
      readOutputs: unused,
      edit: unused,
      run: unused,
      open: unused,
      getDiagnostics: unused
    };
    this.notebooks = { list: () => ({ notebooks: [{ path, active: true }] }), receiveRewrite: unused, ...rest };
  }

  /** The milliseconds after which the waiting calls were due, in the order in which they began to wait. */
  readonly pauses: number[] = [];

  createId(): string {
    return `c${String(++this.ids)}`;
  }

  callLater(call: () => void, ms: number): () => void {
    this.pauses.push(ms);
    this.waiting.add(call);
    return () => this.waiting.delete(call);
  }

  /** Everything that waited is due; whether there was something. */
  tick(): boolean {
    const due = [...this.waiting];
    this.waiting.clear();
    due.forEach(call => {
      call();
    });
    return due.length > 0;
  }

  get server(): Server {
    const last = this.servers.at(-1);
    if (last === undefined) {
      throw new Error('nobody connected');
    }
    return last;
  }
}

async function connected(): Promise<[Session, TestWorld]> {
  const world = new TestWorld();
  const session = new Session(world);
  await session.connect();
  return [session, world];
}

function text(session: Session): string {
  return session.chat.blocks.map(block => ('text' in block ? block.text : '')).join('|');
}

/** Bounded: a condition that never comes fails the test by its own limit of time. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise(resolve => setImmediate(resolve));
  }
}

test('the panel connects as a client that approves calls and answers questions', async () => {
  const [, world] = await connected();
  expect(world.server.of('initialize')).toMatchObject([
    { capabilities: { codeAssistant: { chat: true, envelope: true, chatCapabilities: { askQuestion: true } } } }
  ]);
  expect(JSON.stringify(world.server.of('initialize'))).not.toContain('unattended');
});

test('the session knows who the user is and what the user may do, also after the server has changed it', async () => {
  const [session, world] = await connected();
  expect(session.state.rights).toBeUndefined();
  expect(session.state.user).toBeUndefined();
  const user = { username: 'cy', name: 'Cy' };
  world.welcome = { rights: { asks: false, approves: false, reason: 'Ada asks here.' }, user };
  session.handleClose();
  world.tick();
  await until(() => session.state.connection === 'open');
  expect(session.state.rights).toEqual(world.welcome.rights);
  expect(session.state.user).toEqual(user);
});

test('a prompt goes to the chat that is shown, with the chosen model and agent', async () => {
  const [session, world] = await connected();
  session.choose({ model: 'a/b' });
  expect(await session.prompt('Hi', [{ type: 'web', url: 'u' }])).toBe(true);
  expect(world.server.of('chat/prompt')).toEqual([
    { chatId: 'c1', message: 'Hi', model: 'a/b', contexts: [{ type: 'web', url: 'u' }] }
  ]);
});

test('a new chat begins with what the server remembers for the notebook in front', async () => {
  const [session, world] = await connected();
  world.goTo('sales.ipynb');
  world.server.remembered = { model: 'a/b', agent: 'plan', variant: 'high', variants: ['low', 'high'], trust: false };
  session.startChat();
  await until(() => session.chat.selection.agent === 'plan');
  expect(world.server.of('chat/selection')).toEqual([{ chatId: 'c2', notebook: 'sales.ipynb' }]);
  expect(session.chat.selection).toEqual({ model: 'a/b', agent: 'plan', variant: 'high', variants: ['low', 'high'] });
  await session.prompt('Hi', []);
  expect(world.server.of('chat/prompt')).toMatchObject([{ model: 'a/b', agent: 'plan', variant: 'high' }]);
});

test('a prompt that is sent before the selection is known leaves the choice to the server', async () => {
  const [session, world] = await connected();
  world.server.peer.notify('config/updated', { chat: { selectModel: 'the/default', selectAgent: 'code' } });
  await until(() => session.state.selection.model === 'the/default');
  session.startChat();
  await session.prompt('Hi', []);
  expect(world.server.of('chat/prompt')).toEqual([{ chatId: 'c2', message: 'Hi' }]);
});

test('what the user chooses while the server is asked what it remembers stays chosen', async () => {
  const [session, world] = await connected();
  world.server.remembered = { model: 'old/one', agent: 'plan', variants: [], trust: false };
  session.startChat();
  session.choose({ model: 'new/one', variant: '' });
  await until(() => world.server.of('chat/selectedModelChanged').length > 0);
  await session.loadChats();
  expect(session.chat.selection).toEqual({ model: 'new/one', variant: '' });
});

test('a chat in which something was asked keeps its selection, and a choice in it names the notebook', async () => {
  const [session, world] = await connected();
  world.goTo('sales.ipynb');
  world.server.say('c1', 'assistant', { type: 'text', text: 'one' }, 4);
  await until(() => text(session) === 'one');
  await session.recallSelection();
  expect(world.server.of('chat/selection')).toEqual([]);
  session.choose({ variant: 'high' });
  session.choose({ agent: 'plan' });
  await until(() => world.server.of('chat/selectedAgentChanged').length > 0);
  const place = { chatId: 'c1', notebook: 'sales.ipynb' };
  expect(world.server.of('chat/selectedModelChanged')).toEqual([
    { model: '', variant: 'high', chosen: 'variant', ...place }
  ]);
  expect(world.server.of('chat/selectedAgentChanged')).toEqual([{ agent: 'plan', ...place }]);
});

test('an approval has the parts that are left out, and is then not remembered for any call', async () => {
  const [session, world] = await connected();
  const details = { type: 'fileChange' as const, path: 'a.ipynb', diff: '', linesAdded: 2, linesRemoved: 2 };
  const parts = [
    { start: 0, end: 1, text: 'a' },
    { start: 2, end: 3, text: 'b' }
  ];
  ['one', 'two'].forEach((id, n) => {
    const call = { id, name: 'notebook_edit_cell', server: 'eca', origin: 'native' as const, arguments: {} };
    const content = { ...call, type: 'toolCallRun' as const, manualApproval: true, details: { ...details, parts } };
    world.server.say('c1', 'assistant', content, 4 + n);
  });
  await until(() => session.chat.blocks.length === 2);
  session.leaveOut('one', [1]);
  session.approve('two', true);
  session.approve('one', true);
  await until(() => world.server.of('chat/toolCallApprove').length === 2);
  expect(world.server.of('chat/toolCallApprove')).toEqual([
    { chatId: 'c1', toolCallId: 'two' },
    { chatId: 'c1', toolCallId: 'one', leftOut: [1] }
  ]);
});

test('a prompt that the server refuses is not accepted, and a message says why', async () => {
  const [session, world] = await connected();
  world.server.peer.handle('chat/prompt', () => {
    throw new Error('no model');
  });
  expect(await session.prompt('Hi', [])).toBe(false);
  expect(session.state.messages).toMatchObject([
    { type: 'error', text: expect.stringContaining('no model') as string }
  ]);
});

test('after a broken connection a chat continues where it was', async () => {
  const [session, world] = await connected();
  world.server.say('c1', 'assistant', { type: 'text', text: 'one' }, 4);
  await until(() => text(session) === 'one');
  world.server.peer.close();
  await until(() => session.state.connection === 'lost');
  expect(world.tick()).toBe(true);
  await until(() => session.state.connection === 'open' && text(session) !== 'one');
  expect(text(session)).toBe('one and more');
  expect(world.server.of('chat/open')).toEqual([{ chatId: 'c1', after: 4 }]);
});

test('a chat that was opened before the connection is shown with its contents', async () => {
  const world = new TestWorld();
  world.chats.push({ id: 'cells', status: 'idle' });
  const session = new Session(world);
  session.dispatch({ type: 'shown', chatId: 'cells' });
  await session.connect();
  expect(text(session)).toBe('all');
  expect(world.server.of('chat/open')).toEqual([{ chatId: 'cells', limit: PAGE_SIZE }]);
});

test('a running chat is replayed from its beginning', async () => {
  const [session, world] = await connected();
  world.server.say('c1', 'assistant', { type: 'text', text: 'al' }, 4);
  await until(() => text(session) === 'al');
  world.chats.push({ id: 'c1', status: 'running' });
  world.server.peer.close();
  await until(() => session.state.connection === 'lost');
  world.tick();
  await until(() => text(session) === 'all');
  expect(world.server.of('chat/open')).toEqual([{ chatId: 'c1', limit: PAGE_SIZE }]);
});

test('after a reload the same chat is shown again, or an empty one if it was deleted', async () => {
  const world = new TestWorld();
  const session = new Session(Object.assign(world, { initialChat: 'c9' }));
  await session.connect();
  await until(() => text(session) === 'all');
  expect(session.chat.id).toBe('c9');
  session.startChat();
  expect(session.chat.id).not.toBe('c9');
});

test('a missing server is tried again, and connected when it appears', async () => {
  const world = new TestWorld();
  world.refuses = true;
  const session = new Session(world);
  await session.connect();
  expect(session.state.connection).toBe('absent');
  world.refuses = false;
  expect(world.tick()).toBe(true);
  await until(() => session.state.connection === 'open');
});

test('a connection that is not open again says why, and is tried again all the same', async () => {
  const [session, world] = await connected();
  const outages = ['stopped', 'signed-out'] as const;
  Object.assign(world, { findOutage: () => Promise.resolve(outages[asked++]) });
  let asked = 0;
  world.refuses = true;
  world.server.peer.close();
  await until(() => session.state.connection === 'lost');
  for (const outage of outages) {
    expect(world.tick()).toBe(true);
    await until(() => session.state.connection === outage);
  }
  world.refuses = false;
  expect(world.tick()).toBe(true);
  await until(() => session.state.connection === 'open');
});

test('a closed panel does not connect again', async () => {
  const [session, world] = await connected();
  session.close();
  await until(() => !world.tick());
  expect(world.servers).toHaveLength(1);
});

test('steering that the model did not read before its turn ended becomes the next prompt', async () => {
  const [session, world] = await connected();
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'running' });
  await until(() => session.chat.status === 'running');
  session.steer('in red');
  expect(session.chat.steers.map(steer => steer.text)).toEqual(['in red']);
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'idle' });
  await until(() => world.server.of('chat/prompt').length > 0);
  expect(world.server.of('chat/promptSteer')).toEqual([{ chatId: 'c1', message: 'in red' }]);
  expect(world.server.of('chat/prompt')).toEqual([{ chatId: 'c1', message: 'in red' }]);
});

test('messages that waited are sent with the notebooks and the contexts that the user wrote them with', async () => {
  const [session, world] = await connected();
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'running' });
  await until(() => session.chat.status === 'running');
  world.goTo('a.ipynb');
  session.steer('in red', [{ type: 'web', url: 'u' }]);
  await until(() => world.server.of('chat/promptSteer').length === 1);
  expect(world.server.of('chat/promptSteer')).toEqual([
    { chatId: 'c1', message: 'in red', contexts: [{ type: 'web', url: 'u' }] }
  ]);
  world.goTo('b.ipynb');
  enqueue(session, 'and in blue', [{ type: 'web', url: 'v' }]);
  world.goTo('c.ipynb');
  for (const count of [1, 2]) {
    world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'idle' });
    await until(() => world.server.of('chat/prompt').length === count);
    world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'running' });
    await until(() => session.chat.status === 'running');
  }
  expect(world.server.of('chat/prompt')).toEqual([
    { chatId: 'c1', message: 'in red', contexts: [{ type: 'web', url: 'u' }], notebook: 'a.ipynb' },
    { chatId: 'c1', message: 'and in blue', contexts: [{ type: 'web', url: 'v' }], notebook: 'b.ipynb' }
  ]);
});

test('a message that waited and is refused goes back to its own chat', async () => {
  const [session, world] = await connected();
  const refused: unknown[] = [];
  session.onMessageRefused = (...message) => refused.push(message);
  world.server.peer.handle('chat/prompt', () => {
    throw new RpcError(Code.internal, 'no');
  });
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'running' });
  await until(() => session.chat.status === 'running');
  enqueue(session, 'in red', [{ type: 'web', url: 'u' }]);
  session.startChat();
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'idle' });
  await until(() => refused.length > 0);
  expect(refused).toMatchObject([['c1', { text: 'in red', contexts: [{ type: 'web', url: 'u' }] }]]);
});

test('waiting messages go back to the prompt box with their contexts when the turn is stopped', async () => {
  const [session, world] = await connected();
  const inserted: unknown[] = [];
  session.onInsertText = (...message) => inserted.push(message);
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'running' });
  await until(() => session.chat.status === 'running');
  session.steer('in red', [{ type: 'web', url: 'u' }]);
  enqueue(session, 'and in blue', [{ type: 'web', url: 'v' }]);
  session.stop();
  world.server.peer.notify('chat/statusChanged', { chatId: 'c1', status: 'idle' });
  await until(() => session.chat.status === 'idle');
  await session.loadChats();
  const contexts = [
    { type: 'web', url: 'u' },
    { type: 'web', url: 'v' }
  ];
  expect(inserted).toEqual([['in red\n\nand in blue', contexts]]);
  expect(world.server.of('chat/promptStop')).toEqual([{ chatId: 'c1' }]);
  expect(world.server.of('chat/prompt')).toEqual([]);
});

test("the user's answer answers a question of the assistant", async () => {
  const [session, world] = await connected();
  const params = { chatId: 'c1', question: 'Which?', options: [{ label: 'A' }], allowFreeform: true };
  const answer = world.server.peer.request('chat/askQuestion', params);
  await until(() => session.chat.questions.length > 0);
  session.answer(session.chat.questions[0]?.key ?? 0, { answer: 'A' });
  expect(await answer).toEqual({ answer: 'A' });
  expect(session.chat.questions).toEqual([]);
});

test('asking again rolls the message back first', async () => {
  const [session, world] = await connected();
  const order: string[] = [];
  world.server.peer.handle('chat/rollback', ({ contentId }) => {
    order.push(`rollback ${contentId}`);
    return {};
  });
  await askAgain(session, 'm1', 'better');
  expect(order).toEqual(['rollback m1']);
  expect(world.server.of('chat/prompt')).toEqual([{ chatId: 'c1', message: 'better' }]);
});

test('a server that cannot roll back is asked once more', async () => {
  const [session, world] = await connected();
  expect(await askAgain(session, 'm1', 'better')).toBe(true);
  expect(world.server.of('chat/prompt')).toHaveLength(1);
  expect(session.state.messages).toEqual([]);
});

test('an unknown request fails with the error code for it', async () => {
  const [session] = await connected();
  await expect(session.request('jobs/list', {})).rejects.toMatchObject(
    new RpcError(Code.methodNotFound, 'no method jobs/list')
  );
});

test('contents that come quickly are drawn together', async () => {
  const [session, world] = await connected();
  world.tick();
  let drawn = 0;
  session.subscribe(() => drawn++);
  for (let seq = 1; seq <= 500; seq++) {
    world.server.say('c1', 'assistant', { type: 'text', text: 'x' }, seq);
  }
  await until(() => text(session).length === 500);
  expect(drawn).toBe(1);
  world.tick();
  expect(drawn).toBe(2);
});

test('the first words of an answer are drawn at once, and then ever less often, up to ten times a second', async () => {
  const [session, world] = await connected();
  while (world.tick());
  const stream = async (seq: number): Promise<void> => {
    world.server.say('c1', 'assistant', { type: 'text', text: 'x' }, seq);
    await until(() => text(session).length === seq);
  };
  world.pauses.length = 0;
  await stream(1);
  for (const seq of [2, 3, 4, 5]) {
    await stream(seq);
    world.tick();
  }
  expect(world.pauses).toEqual([16, 32, 64, 100, 100]);
  while (world.tick());
  world.pauses.length = 0;
  await stream(6);
  expect(world.pauses).toEqual([16]);
});

test('the result of a decision is drawn at once, even right after another drawing', async () => {
  const [session, world] = await connected();
  world.tick();
  const shown: string[] = [];
  session.subscribe(() => {
    const last = session.chat.blocks.at(-1);
    shown.push(last?.kind === 'tool' ? last.status : '');
  });
  const call = { id: 't1', name: 'run_code', server: 'eca', origin: 'native' } as const;
  world.server.say('c1', 'assistant', { type: 'text', text: 'Let me.' }, 1);
  world.server.say('c1', 'assistant', { type: 'toolCallRun', ...call, arguments: {}, manualApproval: true }, 2);
  world.server.say('c1', 'assistant', { type: 'toolCallRunning', ...call, arguments: {} }, 3);
  await until(() => shown.includes('running'));
  expect(shown).toEqual(['', 'running']);
});

test('a web address in a message is offered as a link; other addresses are not', async () => {
  const [session, world] = await connected();
  const offers: Offer[] = [];
  session.onOffer = offer => offers.push(offer);
  const messages = ['Sign in here: https://a.example/x?state=1', 'javascript:alert(1)', 'See file:///etc/passwd'];
  for (const message of [...messages, 'https://', 'last']) {
    world.server.peer.notify('$/showMessage', { type: 'info', message });
  }
  await until(() => session.state.messages.some(({ text }) => text === 'last'));
  expect(offers).toEqual([{ kind: 'link', text: 'Sign in here:', url: 'https://a.example/x?state=1' }]);
  expect(session.state.messages.map(({ text }) => text)).toEqual([...messages.slice(1), 'https://', 'last']);
});

test('a server that requires a sign-in is offered once, and connected when the user agrees', async () => {
  const [session, world] = await connected();
  const offers: Offer[] = [];
  session.onOffer = offer => offers.push(offer);
  for (const status of ['requires-auth', 'requires-auth', 'starting', 'requires-auth'] as const) {
    world.server.peer.notify('tool/serverUpdated', { type: 'mcp', name: 'far', status });
  }
  await until(() => offers.length === 2);
  expect(offers).toEqual([
    { kind: 'signIn', server: 'far' },
    { kind: 'signIn', server: 'far' }
  ]);
  session.notify('mcp/connectServer', { name: 'far' });
  await until(() => world.server.of('mcp/connectServer').length > 0);
  expect(world.server.of('mcp/connectServer')).toEqual([{ name: 'far' }]);
});
