/**
 * Connects the panel with the server. The session puts the messages of the server into the state, and sends the actions
 * of the user to the server.
 *
 * A link is one open connection, such as a WebSocket. There is one link at a time. When it breaks, the session opens a
 * new one, after a longer pause at each attempt. Then the session replays every chat that was shown: the server sends
 * the stored contents of a chat again, each with its number `seq`.
 *
 * The user may write to a chat while a turn is running. A steering message goes to the running turn. A queued message
 * waits for the end of the turn (`queue.ts`).
 *
 * This module knows no view and no socket: links and the clock come from outside (`SessionEnvironment`). Only the
 * reducer in `state.ts` changes the state.
 */

import { ClientHandlers, Client, NotebookHost, NotificationMethod } from '../wire/client';
import { PAGE_SIZE } from './prepend_page';
import {
  ChatAskQuestionParams,
  ChatAskQuestionResult,
  ChatContentReceivedParams,
  ChatContext,
  ChatDeletedParams,
  ChatId,
  ChatOpenedParams,
  ChatOpenResult,
  ChatStatusChangedParams,
  ClientMethods,
  ConfigUpdatedParams,
  ShowMessageParams,
  ToolServerUpdatedParams
} from '../wire/protocol';
import { takeNext } from './queue';
import { Link, LinkError, Notifications, Requests } from '../wire/rpc';
import { parseLink, Offer } from './offers';
import type { Change, DeletedChat, QueuedMessage } from './types';
import {
  Action,
  Chat,
  createState,
  createChat,
  isOutage,
  isUnused,
  isUrgent,
  listPartialCalls,
  Outage,
  reduce,
  Selection,
  State
} from './state';

/** The functions and values of the page that the session needs. */
export interface SessionEnvironment {
  /** The notebooks of this page, which the server may read and edit. Undefined where the page has none. */
  readonly notebooks?: NotebookHost;
  /** The chat to begin with: the one that the tab showed before it was reloaded. */
  readonly initialChat?: ChatId;
  /** Opens a new link to the server. */
  open(): Promise<Link>;
  /** Finds out why there is no link any more. Without this function, the reason is unknown. */
  findOutage?(): Promise<Outage>;
  /** Returns an id for a new chat. */
  createId(): string;
  /** Calls `call` once, after `ms` milliseconds. The returned function cancels the call. */
  callLater(call: () => void, ms: number): () => void;
}

/** The pause before the first attempt to connect again, in milliseconds. It doubles at each attempt. */
const FIRST_RETRY_MS = 500;
/** The longest pause between two attempts to connect, in milliseconds. */
const LAST_RETRY_MS = 15_000;
/** The shortest pause between two drawings, in milliseconds. So the first words of an answer are drawn at once. */
const FIRST_PAUSE_MS = 16;
/**
 * The longest pause between two drawings, in milliseconds. Text that streams is drawn ten times a second: no reader
 * sees more.
 */
const LAST_PAUSE_MS = 100;
/** A message of type `info` disappears after this time, which is long enough to read it. */
const READING_MS = 8000;

/** The state of the panel, and the functions that views call. `connect` opens the first link. */
export class Session implements ClientHandlers {
  /** A new object whenever something has changed. */
  state: State;
  /**
   * Called with a text that goes back into the prompt box, and with its contexts. The message was rolled back, or it
   * was in the queue and was not sent.
   */
  onInsertText: (text: string, contexts?: readonly ChatContext[]) => void = () => undefined;
  /** Called when the server refuses a message that waited in a chat. The panel may show another chat at that time. */
  onMessageRefused: (chatId: ChatId, message: QueuedMessage) => void = () => undefined;
  /** Called with a chat that was deleted, here or by another client. */
  onDeleted: (chatId: ChatId) => void = () => undefined;
  /** Called with the changes that made files, when the user has undone them, so that the files are gone. */
  onFilesRemoved: (changes: readonly Change[]) => void = () => undefined;
  /** Called when the server offers the user an action outside of the chat; see `Offer`. */
  onOffer: (offer: Offer) => void = () => undefined;
  /** The chat and the active notebook of the last prompt, even if the server refused that prompt. */
  lastPrompt: { readonly chatId: ChatId; readonly notebook: string | undefined } | undefined;
  /** The client of the open link; undefined while there is none. */
  private client: Client | undefined;
  /** Called whenever the state has changed. */
  private readonly subscribers = new Set<() => void>();
  /** The last known status of each MCP server, by the name of the server. */
  private readonly serverStatuses = new Map<string, string>();
  /** The functions that send the answer to an open question, by the keys of the questions. */
  private readonly resolvers = new Map<number, (answer: ChatAskQuestionResult) => void>();
  /** The key that was last given to a question or message. */
  private lastKey = 0;
  /** The pause before the next attempt to connect. */
  private retryMs = FIRST_RETRY_MS;
  /** Cancels the timer of the next attempt to connect; undefined when no attempt is planned. */
  private cancelRetry: (() => void) | undefined;
  /** Ends the pause between two drawings; undefined when there is no pause. See `notifySoon`. */
  private cancelPause: (() => void) | undefined;
  /** The next pause between two drawings, in milliseconds. */
  private pauseMs = FIRST_PAUSE_MS;
  /** Whether the state has changed during the pause. */
  private hasChangedInPause = false;
  /** Whether `close` was called. */
  private isClosed = false;

  constructor(private readonly environment: SessionEnvironment) {
    this.state = createState(environment.initialChat ?? environment.createId());
  }

  /** Call `subscriber` whenever the state has changed. The returned function ends that. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.subscribers.add(subscriber);
    return () => this.subscribers.delete(subscriber);
  };

  /** The chat that is shown. */
  get chat(): Chat {
    return this.state.chats[String(this.state.current)] ?? createChat(this.state.current);
  }

  // -- the connection

  /** Open a link and bring the state up to date. When that fails, try again later or show the error. */
  async connect(): Promise<void> {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
    try {
      const client = await Client.connect(await this.environment.open(), this, this.environment.notebooks);
      if (this.isClosed) {
        client.close();
        return;
      }
      this.client = client;
      this.retryMs = FIRST_RETRY_MS;
      this.dispatch({ type: 'welcomed', ...client.userInfo });
      this.dispatch({ type: 'connection', connection: 'open' });
      await this.catchUp();
    } catch (error) {
      this.handleConnectError(error);
    }
  }

  /** Close the connection and do not open it again. */
  close(): void {
    this.isClosed = true;
    this.cancelRetry?.();
    this.cancelPause?.();
    this.client?.close();
  }

  /** Try to connect again after the link has closed. */
  handleClose(): void {
    this.client = undefined;
    this.resolvers.clear();
    if (!this.isClosed) {
      this.dispatch({ type: 'connection', connection: 'lost' });
      this.planRetry();
    }
  }

  /** Handle an error of `connect`, which may have failed before or after the link was open. */
  private handleConnectError(error: unknown): void {
    if (this.isClosed || this.cancelRetry !== undefined) {
      // `handleClose` has planned the next attempt already.
      return;
    }
    if (this.client !== undefined && !(error instanceof LinkError)) {
      // The link is open. Only a request of `catchUp` failed.
      this.showError(error);
      return;
    }
    const { connection } = this.state;
    if (!isOutage(connection)) {
      this.dispatch({ type: 'connection', connection: connection === 'open' ? 'lost' : 'absent' });
    }
    if (error instanceof LinkError) {
      this.planRetry();
      void this.explainOutage();
    } else {
      // The server answered and refused, for a wrong configuration for example: it would refuse again in a second.
      this.showError(error);
    }
  }

  /** Find out why a connection that was open cannot be opened again, and put the reason into the state. */
  private async explainOutage(): Promise<void> {
    if (!isOutage(this.state.connection)) {
      return;
    }
    const outage = await this.environment.findOutage?.();
    if (outage !== undefined && !this.isClosed && isOutage(this.state.connection)) {
      this.dispatch({ type: 'connection', connection: outage });
    }
  }

  /** Plan the next attempt to connect, unless one is planned. */
  private planRetry(): void {
    if (this.cancelRetry === undefined) {
      this.cancelRetry = this.environment.callLater(() => void this.connect(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    }
  }

  /** Fetch what happened while there was no connection: the list of chats, and the chats that were shown. */
  private async catchUp(): Promise<void> {
    await this.loadChats();
    const { chats, list } = this.state;
    // A chat in which nothing was asked yet is not stored, so the server could not replay it. Something may have been
    // asked in the initial chat before the page was reloaded.
    const stored = new Set([this.environment.initialChat, ...list.map(({ id }) => id)]);
    const reopened = Object.values(chats).filter(({ id, seq }) => seq > 0 || stored.has(id));
    await Promise.all(reopened.map(chat => this.replay(chat)));
  }

  /**
   * Select in a new chat the model, agent and variant that the user has chosen last, in the active notebook or
   * elsewhere. The server remembers them. A chat in which something was asked keeps its own selection.
   */
  async recallSelection(): Promise<void> {
    const { chat } = this;
    if (!isUnused(chat) || this.client === undefined) {
      return;
    }
    const notebook = this.findActiveNotebook();
    try {
      const params = { chatId: chat.id, ...(notebook !== undefined && { notebook }) };
      const { model = '', agent = '', variant = '', variants } = await this.request('chat/selection', params);
      const currentChat = this.state.chats[String(chat.id)];
      // The user may have chosen or asked something while the server answered. That takes precedence.
      if (currentChat !== undefined && isUnused(currentChat) && currentChat.selection === chat.selection) {
        this.dispatch({ type: 'chosen', chatId: chat.id, selection: { model, agent, variant, variants } });
      }
    } catch (error) {
      // The chat begins with the configured defaults, which are shown already.
      console.warn('ECA: what was chosen before is not known', error);
    }
  }

  /**
   * Replay a chat: the server sends the stored contents of the chat again.
   *
   * An idle chat is replayed from the last content that is known here. A running chat is replayed from its beginning
   * (`whole`), because new contents may arrive before the replay begins, and they look the same as contents of the
   * replay. A replay from the beginning starts with `chat/cleared`, so it can be recognised.
   */
  private async replay(chat: Chat): Promise<void> {
    const isRunning = this.state.list.some(({ id, status }) => id === chat.id && status !== 'idle');
    const whole = isRunning || chat.status !== 'idle' || chat.seq === 0;
    this.dispatch({ type: 'replaying', chatId: chat.id, whole });
    let opened: ChatOpenResult | undefined;
    try {
      opened = await this.requestOrShowError('chat/open', {
        chatId: chat.id,
        ...(whole ? { limit: PAGE_SIZE } : { after: chat.seq })
      });
      this.dispatch({ type: 'chosen', chatId: chat.id, selection: opened?.selection ?? {} });
    } finally {
      const { found = true, meta, usage, tasks } = opened ?? {};
      const beginning = whole && { startCursor: meta?.beforeCursor, usage, tasks };
      this.dispatch({ type: 'replayed', chatId: chat.id, found, ...beginning });
    }
  }

  // -- messages of the server

  /**
   * Apply a notification of the server to the state. Then, for each chat whose turn the notification has ended, send
   * the next message that waits.
   */
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
    const runningBefore = this.listRunning();
    try {
      // The generated types are trusted here; the reducer ignores what does not fit them.
      this.state = reduce(this.state, { type: 'notification', method, params } as Action);
    } catch (error) {
      console.warn('ECA: a message was ignored', method, error);
      return;
    }
    // Streamed text and progress come many times a second, and need not be drawn each time.
    const canWait = method === 'chat/contentReceived' && !isUrgent(this.state, params as ChatContentReceivedParams);
    if (canWait || method === 'chat/toolCallProgress') {
      this.notifySoon();
    } else {
      this.notifySubscribers();
    }
    for (const chatId of runningBefore) {
      this.continueAfterTurn(chatId);
    }
    // The server also sends this after each new connection.
    if (method === 'config/updated' && (params as ConfigUpdatedParams).chatId === undefined) {
      void this.recallSelection();
    }
    // A deletion was undone, here or in another page.
    if (method === 'chat/opened' && this.state.list.every(({ id }) => id !== (params as ChatOpenedParams).chatId)) {
      void this.loadChats();
    }
    if (
      method === 'chat/statusChanged' &&
      (this.hasHiddenTurnEnded(params as ChatStatusChangedParams) ||
        this.isAskedElsewhere(params as ChatStatusChangedParams) ||
        this.isUnknownChat(params as ChatStatusChangedParams))
    ) {
      void this.loadChats();
    }
  }

  /** Return whether a chat is new: not in the list and never shown here. For example, a cell has begun it. */
  private isUnknownChat({ chatId }: ChatStatusChangedParams): boolean {
    return this.state.chats[String(chatId)] === undefined && this.state.list.every(({ id }) => id !== chatId);
  }

  /**
   * Return whether a turn has ended in a chat that is in the list but was never shown here. The list must be fetched
   * again, because only the server knows how the turn ended.
   */
  private hasHiddenTurnEnded({ chatId, status }: ChatStatusChangedParams): boolean {
    const isListed = this.state.list.some(({ id }) => id === chatId);
    return status === 'idle' && isListed && this.state.chats[String(chatId)] === undefined;
  }

  /**
   * Return whether a turn has begun in a chat that is not shown, on a server that several people use. The list must be
   * fetched again, because only the server knows who asks.
   */
  private isAskedElsewhere({ chatId, status }: ChatStatusChangedParams): boolean {
    return status === 'running' && chatId !== this.chat.id && this.state.user !== undefined;
  }

  /** Offer a sign-in when a server begins to require it, not each time that its status is repeated. */
  private offerSignIn({ name, status }: ToolServerUpdatedParams): void {
    const before = this.serverStatuses.get(name);
    this.serverStatuses.set(name, status);
    if (status === 'requires-auth' && before !== status) {
      this.onOffer({ kind: 'signIn', server: name });
    }
  }

  /**
   * Show a question of the assistant, and return the user's answer. The answer is `cancelled` if `signal` aborts, or if
   * the turn ends before the user answers.
   */
  askUser(question: ChatAskQuestionParams, signal: AbortSignal): Promise<ChatAskQuestionResult> {
    const key = ++this.lastKey;
    this.dispatch({ type: 'asked', question: { ...question, key } });
    signal.addEventListener('abort', () => {
      this.answer(key, { cancelled: true });
    });
    return new Promise(resolve => this.resolvers.set(key, resolve));
  }

  /** Return the chats that are not idle: running, or stopping. */
  private listRunning(): readonly ChatId[] {
    return Object.values(this.state.chats).flatMap(({ id, status }) => (status === 'idle' ? [] : [id]));
  }

  /**
   * If the turn of a chat has ended, cancel its open questions, and send the next message that waits: first a steering
   * message that came too late for the turn, then the first message of the queue.
   */
  private continueAfterTurn(chatId: ChatId): void {
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
      void this.prompt(next.text, next.contexts, chat, next.notebook).then(accepted => {
        if (!accepted) {
          this.onMessageRefused(chatId, next);
        }
      });
    }
  }

  // -- actions of the user

  /**
   * Send a prompt to `chat`, and return whether the server accepted it. `notebook` is the path of the notebook that the
   * prompt is about: see `findActiveNotebook`.
   */
  async prompt(
    message: string,
    contexts: readonly ChatContext[],
    chat: Chat = this.chat,
    notebook = this.findActiveNotebook()
  ): Promise<boolean> {
    // In a new chat, only what was chosen in this chat is sent. The server chooses the rest.
    const {
      model = '',
      agent = '',
      variant = ''
    } = {
      ...(!isUnused(chat) && this.state.selection),
      ...chat.selection
    };
    this.lastPrompt = { chatId: chat.id, notebook };
    const result = await this.requestOrShowError('chat/prompt', {
      chatId: chat.id,
      message,
      ...(model !== '' && { model }),
      ...(agent !== '' && { agent }),
      ...(variant !== '' && { variant }),
      ...(contexts.length > 0 && { contexts }),
      ...(notebook !== undefined && { notebook })
    });
    return result !== undefined;
  }

  /**
   * Return the path of the active notebook: empty when no notebook is active, undefined in a page that cannot open
   * notebooks.
   */
  findActiveNotebook(): string | undefined {
    const list = this.environment.notebooks?.list().notebooks;
    return list === undefined ? undefined : (list.find(({ active }) => active)?.path ?? '');
  }

  /**
   * Send a message with its contexts to the running turn. If the turn ends before the model reads the message, the
   * message becomes the next prompt.
   */
  steer(message: string, contexts: readonly ChatContext[] = []): void {
    const chat = this.chat;
    const steer = { text: message, contexts, notebook: this.findActiveNotebook() };
    this.dispatch({ type: 'steered', chatId: chat.id, steers: [...chat.steers, steer] });
    this.client?.notify('chat/promptSteer', { chatId: chat.id, message, ...(contexts.length > 0 && { contexts }) });
  }

  /** Take back the steering messages and the queue of the chat, and put their texts into the prompt box again. */
  takeBackWaitingMessages(): void {
    const chat = this.chat;
    this.client?.notify('chat/promptSteerRemove', { chatId: chat.id });
    const waiting = [...chat.steers, ...(chat.queue ?? [])];
    this.onInsertText(
      waiting.map(({ text }) => text).join('\n\n'),
      waiting.flatMap(({ contexts }) => contexts)
    );
    this.dispatch({ type: 'steered', chatId: chat.id, steers: [] });
    this.dispatch({ type: 'queued', chatId: chat.id, queue: [] });
  }

  /** Stop the turn. Messages that wait go back to the prompt box, because they must not start another turn. */
  stop(): void {
    if (this.chat.steers.length + (this.chat.queue?.length ?? 0) > 0) {
      this.takeBackWaitingMessages();
    }
    this.client?.stopPrompt(this.chat.id);
  }

  /** Send a notification to the server. Without a connection, nothing is sent. */
  notify<K extends Notifications<ClientMethods>>(method: K, params: ClientMethods[K]['params']): void {
    this.client?.notify(method, params);
  }

  /** Approve a tool call. `forSession`: the server also remembers the approval for the rest of the chat. */
  approve(toolCallId: string, forSession: boolean, chatId = this.chat.id): void {
    const partialCalls = listPartialCalls(this.state, chatId);
    const leftOut = partialCalls.find(call => call.id === toolCallId && call.chatId === chatId)?.leftOut;
    this.client?.notify('chat/toolCallApprove', {
      chatId,
      toolCallId,
      ...(leftOut !== undefined && { leftOut }),
      // If the user leaves out a part of any waiting call, the approval is not remembered: it could cover that call,
      // too.
      ...(forSession && partialCalls.length === 0 && { save: 'session' as const })
    });
  }

  /**
   * Choose the parts that are left out of the change of a waiting call when it is approved. `parts` are the indexes of
   * these parts. The card shows what remains of the change as soon as the server has computed it.
   */
  leaveOut(toolCallId: string, parts: readonly number[], chatId = this.chat.id): void {
    const action = { type: 'leftOut' as const, chatId, id: toolCallId, parts };
    this.dispatch(action);
    if (parts.length > 0) {
      // A server of an earlier version does not know the request. Then the card still shows all parts.
      this.request('chat/remainingChange', { chatId, toolCallId, leftOut: parts }).then(
        ({ details: remaining }) => {
          this.dispatch({ ...action, remaining });
        },
        () => undefined
      );
    }
  }

  /** Reject a tool call. The model reads the reason, which may be empty. */
  reject(toolCallId: string, reason: string, chatId = this.chat.id): void {
    this.client?.notify('chat/toolCallReject', { chatId, toolCallId, ...(reason !== '' && { reason }) });
  }

  /** Answer the question with this key, and remove it from its chat. */
  answer(key: number, answer: ChatAskQuestionResult): void {
    this.resolvers.get(key)?.(answer);
    this.resolvers.delete(key);
    this.dispatch({ type: 'answered', key });
  }

  /** Show a new chat. The server learns of the chat with its first prompt. */
  startChat(): void {
    this.dispatch({ type: 'shown', chatId: this.environment.createId() });
    void this.recallSelection();
  }

  /** Show a chat. If it was not shown before, its transcript is fetched. */
  async openChat(chatId: ChatId): Promise<void> {
    const shownBefore = this.state.chats[String(chatId)];
    this.dispatch({ type: 'shown', chatId });
    if (shownBefore === undefined) {
      await this.replay(this.chat);
    }
    void this.recallSelection();
  }

  /**
   * Fetch the list of all chats. `notebook` is the path of a notebook. If the notebook was moved to this path, the
   * server first assigns its chats to the new path.
   */
  async loadChats(notebook?: string): Promise<void> {
    const result = await this.requestOrShowError('chat/list', notebook === undefined ? {} : { notebook });
    if (result !== undefined) {
      this.dispatch({ type: 'listed', chats: result.chats });
    }
  }

  /** Choose the model, agent or variant of the chat that is shown. The server remembers it for new chats. */
  choose(selection: Partial<Selection>): void {
    const { chat } = this;
    this.dispatch({ type: 'chosen', chatId: chat.id, selection });
    const { model, agent, variant } = { ...this.state.selection, ...this.chat.selection };
    const notebook = this.findActiveNotebook();
    // What the choice is for. The server does not know a chat in which nothing was asked yet.
    const target = { ...(chat.seq > 0 && { chatId: chat.id }), ...(notebook !== undefined && { notebook }) };
    if (selection.agent !== undefined) {
      this.client?.notify('chat/selectedAgentChanged', { agent, ...target });
      // Another agent may have a model of its own.
      void this.recallSelection();
    } else {
      const chosen = selection.model === undefined ? 'variant' : 'model';
      this.client?.notify('chat/selectedModelChanged', { model, variant, chosen, ...target });
    }
  }

  /**
   * Set an option of the outside agent of the chat that is shown. The server sends back the value that the agent has
   * accepted. This may take long, because some agents do not answer while they work.
   */
  chooseOption(option: string, value: string): void {
    this.dispatch({ type: 'optionChosen', chatId: this.chat.id, option, value });
    this.client?.notify('chat/selectedOptionChanged', { chatId: this.chat.id, option, value });
  }

  /** Send a request and return the answer. When it fails, show the error and return undefined. See `request`. */
  async requestOrShowError<K extends Requests<ClientMethods>>(
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

  /** Send a request and return the answer. Throws: LinkError, RpcError. */
  request<K extends Requests<ClientMethods>>(
    method: K,
    params: ClientMethods[K]['params']
  ): Promise<ClientMethods[K]['result']> {
    return this.client?.request(method, params) ?? Promise.reject(new LinkError('there is no connection'));
  }

  /** Remove a message that is shown above the chat. */
  dismiss(key: number): void {
    this.dispatch({ type: 'dismissed', key });
  }

  /** Show a message above the chat. */
  showMessage(type: 'error' | 'warning' | 'info', text: string): void {
    const key = ++this.lastKey;
    this.dispatch({ type: 'message', message: { key, type, text } });
    if (type === 'info') {
      this.environment.callLater(() => {
        this.dismiss(key);
      }, READING_MS);
    }
  }

  /** Show the notice with which the user can undo the deletion of a chat. */
  showDeletion(text: string, deleted: DeletedChat): void {
    this.dispatch({ type: 'message', message: { key: ++this.lastKey, type: 'info', text, deleted } });
  }

  /** Ask the user whether the browser should notify them. */
  offerNotifications(text: string): void {
    this.dispatch({ type: 'message', message: { key: ++this.lastKey, type: 'info', text, offersNotifications: true } });
  }

  /** Show an error. A broken link is not shown as an error, because the panel shows the state of the connection. */
  showError(error: unknown): void {
    if (!(error instanceof LinkError)) {
      this.showMessage('error', error instanceof Error ? error.message : String(error));
    }
  }

  /** Apply an action to the state and notify the subscribers. */
  dispatch(action: Action): void {
    this.state = reduce(this.state, action);
    this.notifySubscribers();
  }

  /**
   * Notify the subscribers. The first call notifies them at once and begins a pause. Calls during the pause notify them
   * once, at its end, and begin a pause twice as long, up to `LAST_PAUSE_MS`. After a pause without calls, the next one
   * is short again.
   */
  private notifySoon(): void {
    if (this.cancelPause !== undefined) {
      this.hasChangedInPause = true;
      return;
    }
    this.notifySubscribers();
    this.cancelPause = this.environment.callLater(() => {
      this.cancelPause = undefined;
      if (this.hasChangedInPause) {
        this.pauseMs = Math.min(2 * this.pauseMs, LAST_PAUSE_MS);
        this.notifySoon();
      } else {
        this.pauseMs = FIRST_PAUSE_MS;
      }
    }, this.pauseMs);
  }

  /** Call all subscribers. */
  private notifySubscribers(): void {
    this.hasChangedInPause = false;
    for (const subscriber of this.subscribers) {
      subscriber();
    }
  }
}
