/**
 * The panel's connection to the server: what the server sends goes into the state, what the user does goes to the
 * server.
 *
 * There is one link at a time. When it breaks it is opened again, after a longer pause each time, and every chat that
 * was shown is replayed. Knows no view and no socket: links and the clock come from outside (`SessionEnvironment`). The
 * state is changed only by the reducer in `state.ts`.
 */

import { Attendant, Client, NotebookHost, NotificationMethod } from '../wire/client';
import { PAGE } from './pages';
import {
  ChatAskQuestionParams,
  ChatAskQuestionResult,
  ChatContentReceivedParams,
  ChatContext,
  ChatDeletedParams,
  ChatId,
  ChatOpenResult,
  ClientMethods,
  ShowMessageParams,
  ToolServerUpdatedParams
} from '../wire/protocol';
import { takeNext } from './queue';
import { Link, LinkError, Notifications, Requests } from '../wire/rpc';
import { parseLink, Offer } from './offers';
import { Action, Chat, createState, createChat, isUrgent, reduce, Selection, State } from './state';

/** What the session needs from the page. */
export interface SessionEnvironment {
  readonly notebooks?: NotebookHost;
  /** The chat to begin with: the one that the tab showed before it was reloaded. */
  readonly known?: ChatId;
  open(): Promise<Link>;
  newId(): string;
  /** Calls once after `ms` milliseconds. The returned function cancels that. */
  callLater(call: () => void, ms: number): () => void;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;
/** Ten times a second: a reader of growing text does not see more. */
const FRAME_MS = 100;
/** A message of type `info` goes away by itself after this time, which is long enough to read it. */
const READING_MS = 8000;

export class Session implements Attendant {
  state: State;
  /** Called with text that goes back to the prompt box: of a message that waited, or was rolled back. */
  onDraft: (text: string) => void = () => undefined;
  /** Called with a chat that was deleted, here or by another client. */
  onDeleted: (chatId: ChatId) => void = () => undefined;
  /** Called with something that the user may want to do outside of the chat. */
  onOffer: (offer: Offer) => void = () => undefined;
  private client: Client | undefined;
  private readonly watchers = new Set<() => void>();
  /** The last known status of each MCP server. */
  private readonly servers = new Map<string, string>();
  private readonly answerers = new Map<number, (answer: ChatAskQuestionResult) => void>();
  private lastKey = 0;
  private retryMs = FIRST_RETRY_MS;
  private cancelPause: (() => void) | undefined;
  private hasNews = false;
  private cancelRetry: (() => void) | undefined;
  private closed = false;

  constructor(private readonly world: SessionEnvironment) {
    this.state = createState(world.known ?? world.newId());
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  get chat(): Chat {
    return this.state.chats[String(this.state.current)] ?? createChat(this.state.current);
  }

  // -- the connection

  async connect(): Promise<void> {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
    try {
      const client = await Client.connect(await this.world.open(), this, this.world.notebooks);
      if (this.closed) {
        client.close();
        return;
      }
      this.client = client;
      this.retryMs = FIRST_RETRY_MS;
      this.dispatch({ type: 'connection', connection: 'open' });
      await this.catchUp();
    } catch (error) {
      this.handleFailure(error);
    }
  }

  /** Close the connection and do not open it again. */
  close(): void {
    this.closed = true;
    this.cancelRetry?.();
    this.cancelPause?.();
    this.client?.close();
  }

  handleClose(): void {
    this.client = undefined;
    this.answerers.clear();
    if (!this.closed) {
      this.dispatch({ type: 'connection', connection: 'lost' });
      this.retry();
    }
  }

  private handleFailure(error: unknown): void {
    if (this.closed || this.cancelRetry !== undefined) {
      return;
    }
    if (this.client !== undefined && !(error instanceof LinkError)) {
      this.showError(error);
      return;
    }
    const { connection } = this.state;
    this.dispatch({
      type: 'connection',
      connection: connection === 'lost' || connection === 'open' ? 'lost' : 'absent'
    });
    if (error instanceof LinkError) {
      this.retry();
    } else {
      // The server answered and refused, for a wrong configuration for example: it would refuse again in a second.
      this.showError(error);
    }
  }

  private retry(): void {
    if (this.cancelRetry === undefined) {
      this.cancelRetry = this.world.callLater(() => void this.connect(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    }
  }

  /** Fetch what happened while there was no connection. */
  private async catchUp(): Promise<void> {
    await this.loadChats();
    const { chats, list } = this.state;
    const stored = new Set([this.world.known, ...list.map(one => one.id)]);
    const reopened = Object.values(chats).filter(({ id, seq }) => seq > 0 || stored.has(id));
    await Promise.all(reopened.map(chat => this.replay(chat)));
  }

  /**
   * Replay a chat. A running chat is replayed from its beginning: new contents that arrive before the replay begins
   * cannot be told from those of the replay, which begins with `chat/cleared` only then.
   */
  private async replay(chat: Chat): Promise<void> {
    const isRunning = this.state.list.some(({ id, status }) => id === chat.id && status !== 'idle');
    const whole = isRunning || chat.status !== 'idle' || chat.seq === 0;
    this.dispatch({ type: 'replaying', chatId: chat.id, whole });
    let opened: ChatOpenResult | undefined;
    try {
      opened = await this.ask('chat/open', { chatId: chat.id, ...(whole ? { limit: PAGE } : { after: chat.seq }) });
      this.dispatch({ type: 'chosen', chatId: chat.id, selection: opened?.selection ?? {} });
    } finally {
      const { found = true, meta } = opened ?? {};
      this.dispatch({ type: 'replayed', chatId: chat.id, found, ...(whole && { before: meta?.beforeCursor }) });
    }
  }

  // -- what the server sends

  handleNotification(method: NotificationMethod, params: unknown): void {
    if (method === '$/showMessage') {
      const { type, message } = params as ShowMessageParams;
      const link = type === 'info' ? parseLink(message) : undefined;
      if (link === undefined) {
        this.showMessage(type, message);
      } else {
        this.onOffer(link);
      }
      return;
    }
    if (method === 'chat/deleted') {
      this.onDeleted((params as ChatDeletedParams).chatId);
    }
    if (method === 'tool/serverUpdated') {
      this.offerSignIn(params as ToolServerUpdatedParams);
    }
    const running = this.listRunning();
    try {
      // The generated types are trusted here; the reducer ignores what does not fit them.
      this.state = reduce(this.state, { type: 'told', method, params } as Action);
    } catch (error) {
      console.warn('ECA: a message was ignored', method, error);
      return;
    }
    const said = method === 'chat/contentReceived' && !isUrgent(this.state, params as ChatContentReceivedParams);
    if (said || method === 'chat/toolCallProgress') {
      this.notifySoon();
    } else {
      this.notifyWatchers();
    }
    for (const chatId of running) {
      this.settle(chatId);
    }
  }

  /** Offer a sign-in when a server begins to require it, not each time that its status is repeated. */
  private offerSignIn({ name, status }: ToolServerUpdatedParams): void {
    const before = this.servers.get(name);
    this.servers.set(name, status);
    if (status === 'requires-auth' && before !== status) {
      this.onOffer({ kind: 'signIn', server: name });
    }
  }

  askUser(question: ChatAskQuestionParams, taken: AbortSignal): Promise<ChatAskQuestionResult> {
    const key = ++this.lastKey;
    this.dispatch({ type: 'asked', question: { ...question, key } });
    taken.addEventListener('abort', () => {
      this.answer(key, { cancelled: true });
    });
    return new Promise(resolve => this.answerers.set(key, resolve));
  }

  private listRunning(): readonly ChatId[] {
    return Object.values(this.state.chats).flatMap(({ id, status }) => (status === 'idle' ? [] : [id]));
  }

  /** When a turn has ended, cancel its questions and ask what waits: steering that came too late, then the queue. */
  private settle(chatId: ChatId): void {
    const chat = this.state.chats[String(chatId)];
    if (chat?.status !== 'idle') {
      return;
    }
    void this.loadChats();
    for (const { key } of chat.questions) {
      this.answer(key, { cancelled: true });
    }
    const next = takeNext(this, chat);
    if (next !== undefined) {
      void this.prompt(next.text, next.contexts, chat).then(done => {
        if (!done) {
          this.onDraft(next.text);
        }
      });
    }
  }

  // -- what the user does

  /** Send a prompt and return whether the server accepted it. */
  async prompt(message: string, contexts: readonly ChatContext[], chat: Chat = this.chat): Promise<boolean> {
    const { model, agent, variant } = { ...this.state.selection, ...chat.selection };
    const notebook = this.findActiveNotebook();
    const taken = await this.ask('chat/prompt', {
      chatId: chat.id,
      message,
      ...(model !== '' && { model }),
      ...(agent !== '' && { agent }),
      ...(variant !== '' && { variant }),
      ...(contexts.length > 0 && { contexts }),
      ...(notebook !== undefined && { notebook })
    });
    return taken !== undefined;
  }

  /** Return the path of the notebook in front; empty for none, undefined where this page has no notebooks to show. */
  private findActiveNotebook(): string | undefined {
    const list = this.world.notebooks?.list().notebooks;
    return list === undefined ? undefined : (list.find(({ active }) => active)?.path ?? '');
  }

  /** Send a message to the running turn. If the turn ends before the model reads it, it becomes the next prompt. */
  steer(message: string): void {
    const chat = this.chat;
    this.dispatch({ type: 'steered', chatId: chat.id, steers: [...chat.steers, message] });
    this.client?.notify('chat/promptSteer', { chatId: chat.id, message });
  }

  takeBackSteers(): void {
    const chat = this.chat;
    this.client?.notify('chat/promptSteerRemove', { chatId: chat.id });
    this.onDraft([...chat.steers, ...(chat.queue ?? []).map(({ text }) => text)].join('\n\n'));
    this.dispatch({ type: 'steered', chatId: chat.id, steers: [] });
    this.dispatch({ type: 'queued', chatId: chat.id, queue: [] });
  }

  /** Stop the turn. Messages that wait go back to the prompt box, because they must not start another turn. */
  stop(): void {
    if (this.chat.steers.length + (this.chat.queue?.length ?? 0) > 0) {
      this.takeBackSteers();
    }
    this.client?.stopPrompt(this.chat.id);
  }

  notify<K extends Notifications<ClientMethods>>(method: K, params: ClientMethods[K]['params']): void {
    this.client?.notify(method, params);
  }

  approve(toolCallId: string, session: boolean, chatId = this.chat.id): void {
    this.client?.notify('chat/toolCallApprove', {
      chatId,
      toolCallId,
      ...(session && { save: 'session' as const })
    });
  }

  reject(toolCallId: string, reason: string, chatId = this.chat.id): void {
    this.client?.notify('chat/toolCallReject', { chatId, toolCallId, ...(reason !== '' && { reason }) });
  }

  answer(key: number, answer: ChatAskQuestionResult): void {
    this.answerers.get(key)?.(answer);
    this.answerers.delete(key);
    this.dispatch({ type: 'answered', key });
  }

  startChat(): void {
    this.dispatch({ type: 'shown', chatId: this.world.newId() });
  }

  async openChat(chatId: ChatId): Promise<void> {
    const known = this.state.chats[String(chatId)];
    this.dispatch({ type: 'shown', chatId });
    if (known === undefined) {
      await this.replay(this.chat);
    }
  }

  async loadChats(): Promise<void> {
    const listed = await this.ask('chat/list', {});
    if (listed !== undefined) {
      this.dispatch({ type: 'listed', chats: listed.chats });
    }
  }

  choose(selection: Partial<Selection>): void {
    const { chat } = this;
    this.dispatch({ type: 'chosen', chatId: chat.id, selection });
    const { model, agent, variant } = { ...this.state.selection, ...this.chat.selection };
    const known = chat.seq > 0 && { chatId: chat.id };
    if (selection.agent !== undefined) {
      this.client?.notify('chat/selectedAgentChanged', { agent, ...known });
    } else {
      this.client?.notify('chat/selectedModelChanged', { model, variant, ...known });
    }
  }

  /** Return the answer, or undefined after an error message was shown. */
  async ask<K extends Requests<ClientMethods>>(
    method: K,
    params: ClientMethods[K]['params']
  ): Promise<ClientMethods[K]['result'] | undefined> {
    try {
      return await this.request(method, params);
    } catch (error) {
      this.showError(error);
      return undefined;
    }
  }

  /** Throws: LinkError, RpcError. */
  request<K extends Requests<ClientMethods>>(
    method: K,
    params: ClientMethods[K]['params']
  ): Promise<ClientMethods[K]['result']> {
    return this.client?.request(method, params) ?? Promise.reject(new LinkError('there is no connection'));
  }

  dismiss(key: number): void {
    this.dispatch({ type: 'dismissed', key });
  }

  showMessage(type: 'error' | 'warning' | 'info', text: string): void {
    const key = ++this.lastKey;
    this.dispatch({ type: 'message', message: { key, type, text } });
    if (type === 'info') {
      this.world.callLater(() => {
        this.dismiss(key);
      }, READING_MS);
    }
  }

  /** Show an error, unless the link is broken: the state of the connection is shown already. */
  showError(error: unknown): void {
    if (!(error instanceof LinkError)) {
      this.showMessage('error', error instanceof Error ? error.message : String(error));
    }
  }

  dispatch(action: Action): void {
    this.state = reduce(this.state, action);
    this.notifyWatchers();
  }

  /** Notify the watchers now, unless that was done less than `FRAME_MS` ago: then once after that time. */
  private notifySoon(): void {
    if (this.cancelPause !== undefined) {
      this.hasNews = true;
      return;
    }
    this.notifyWatchers();
    this.cancelPause = this.world.callLater(() => {
      this.cancelPause = undefined;
      if (this.hasNews) {
        this.notifySoon();
      }
    }, FRAME_MS);
  }

  private notifyWatchers(): void {
    this.hasNews = false;
    for (const watcher of this.watchers) {
      watcher();
    }
  }
}
