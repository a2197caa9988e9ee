/**
 * The state of the panel. A reducer computes it from the messages of the server and the actions of the user. Pure.
 *
 * The server sends a chat as contents: pieces of text, stages of tool calls and others. Each stored content has a
 * number in its chat, `seq`, which grows. A content with a `seq` is applied once, so contents may be repeated.
 *
 * In a replay the server sends the stored contents of a chat again. Meanwhile the new transcript is collected in
 * `replay`. It is shown when the replay is complete, so that the user sees no gap and no flicker.
 *
 * This module knows no connection (`session.ts`). The transcript itself is in `transcript.ts` and `blocks.ts`.
 */

import { Blocks, setLeftOut, setProgress } from './blocks';
import { prependPage } from './prepend_page';
import {
  AgentOption,
  ChatAskQuestionParams,
  ChatConfig,
  ChatContentReceivedParams,
  ChatId,
  ChatSummary,
  ClientRights,
  ConfigUpdatedParams,
  FileChangeDetails,
  Job,
  Person,
  ProviderStatus,
  ServerMethods,
  ToolServerUpdatedParams,
  UntrustedSettingsParams
} from '../wire/protocol';
import { EMPTY_TRANSCRIPT, applyContent, Transcript, pickTranscript } from './transcript';
import type { Change, DeletedChat, HistoryPage, QueuedMessage } from './types';

/**
 * Why a connection is gone, as far as the page can find out. `lost`: unknown. `signed-out`: the server does not know
 * the user any more. `stopped`: the server is not running, for example because a hub has ended it.
 */
export type Outage = 'lost' | 'signed-out' | 'stopped';

/**
 * The state of the connection. While it is gone, the session tries to connect again. `absent`: no attempt to connect
 * has succeeded so far.
 */
export type Connection = 'connecting' | 'open' | 'absent' | Outage;

/** Return whether there was a connection that is gone. */
export function isOutage(connection: Connection): connection is Outage {
  return connection === 'lost' || connection === 'signed-out' || connection === 'stopped';
}

/** A question of the assistant that waits for an answer. */
export interface Question extends ChatAskQuestionParams {
  /** Identifies the question in this page. */
  readonly key: number;
}

/** The model, the agent and the variant of the next turn. An empty name leaves the choice to the server. */
export interface Selection {
  /** The full name of the model, `provider/model`. */
  readonly model: string;
  /** The name of the agent: a set of instructions and tools for the model. */
  readonly agent: string;
  /** The variant of the model, for example its reasoning effort. */
  readonly variant: string;
  /** The variants that can be chosen for the model. */
  readonly variants: readonly string[];
}

export type { Transcript } from './transcript';

/** A chat that was shown in this page. */
export interface Chat extends Transcript {
  readonly id: ChatId;
  /** Questions of the assistant that nobody has answered yet. */
  readonly questions: readonly Question[];
  /** Messages for the running turn that the model has not read yet. */
  readonly steers: readonly QueuedMessage[];
  /** Questions that are asked when the running turn has ended. */
  readonly queue?: readonly QueuedMessage[];
  /** What was chosen in this chat. It takes precedence over `State.selection`. */
  readonly selection: Partial<Selection>;
  /** The options of the outside agent that answers in this chat, while it runs. */
  readonly agentOptions?: readonly AgentOption[];
  /** The values that the user has chosen for these options and that the agent has not taken yet, by their ids. */
  readonly chosenOptions?: Readonly<Record<string, string>>;
  /** The changes of the assistant that are neither kept nor undone: see `loadChanges`. */
  readonly changes?: readonly Change[];
  /**
   * Present while the chat is replayed. `from`: the transcript that the replay continues, which is empty for the replay
   * of a whole chat. `now`: `from` with the contents that were collected so far.
   */
  readonly replay?: { readonly from: Transcript; readonly now: Transcript };
}

/** A message to the user that is not part of a chat. */
export interface Message {
  /** Identifies the message in this page. */
  readonly key: number;
  readonly type: 'error' | 'warning' | 'info';
  readonly text: string;
  /** The chat whose deletion the message reports; undefined for all other messages. */
  readonly deleted?: DeletedChat;
  /** Whether the message asks if the browser should notify the user. */
  readonly offersNotifications?: boolean;
}

/** All that the panel shows. */
export interface State {
  readonly connection: Connection;
  /** What the user may do on this server; undefined if everything. */
  readonly rights?: ClientRights | undefined;
  /** The user; undefined where the server does not tell its users apart. */
  readonly user?: Person | undefined;
  /** Whether the server has sent its list of models, which may be empty. */
  readonly configured: boolean;
  /** The chat that is shown. */
  readonly current: ChatId;
  /** The chats that were shown in this page, by their ids. */
  readonly chats: Readonly<Record<string, Chat>>;
  /** All chats of the workspace, for the list of chats. */
  readonly list: readonly ChatSummary[];
  /** The full names of the models, `provider/model`. */
  readonly models: readonly string[];
  /** The names of the agents that the user can choose. */
  readonly agents: readonly string[];
  /** The names of those agents that are programs of their own, such as Codex. They choose their model themselves. */
  readonly outsideAgents: readonly string[];
  /** The selection for chats in which nothing was chosen. */
  readonly selection: Selection;
  /** The Markdown that an empty chat shows. */
  readonly welcome: string;
  /** The tool servers, by their names. */
  readonly servers: Readonly<Record<string, ToolServerUpdatedParams>>;
  /** The background jobs. */
  readonly jobs: readonly Job[];
  /** The providers of models, by their ids. */
  readonly providers: Readonly<Record<string, ProviderStatus>>;
  /** The settings that folders contain. They have no effect until the user trusts the folder. */
  readonly untrusted: UntrustedSettingsParams;
  /** The messages above the chat. */
  readonly messages: readonly Message[];
}

/** A notification of the server: the name of its method, and the parameters of this method. */
type ServerNotification = {
  [K in keyof ServerMethods]: { readonly method: K; readonly params: ServerMethods[K]['params'] };
}[keyof ServerMethods];

/** What happened. An action about one chat names it in `chatId`. */
export type Action =
  /** The server has sent a notification. */
  | ({ readonly type: 'notification' } & ServerNotification)
  /** The state of the connection has changed. */
  | { readonly type: 'connection'; readonly connection: Connection }
  /** The server has said who the user is, and what the user may do. */
  | { readonly type: 'welcomed'; readonly rights?: ClientRights; readonly user?: Person }
  /** The list of all chats was fetched. */
  | { readonly type: 'listed'; readonly chats: readonly ChatSummary[] }
  /** The user opens a chat. It begins empty when it was not shown before. */
  | { readonly type: 'shown'; readonly chatId: ChatId }
  /** A replay begins: of the whole chat (`whole`), or of what came after its `seq`. `replayed` follows at its end. */
  | { readonly type: 'replaying'; readonly chatId: ChatId; readonly whole: boolean }
  /**
   * A replay is complete. `found`: the server knows the chat. `startCursor`: the cursor of the place where the next
   * older page ends. `usage` and `tasks` are the last usage and the last list of tasks before the replayed part.
   */
  | {
      readonly type: 'replayed';
      readonly chatId: ChatId;
      readonly found: boolean;
      readonly startCursor?: Transcript['startCursor'];
      readonly usage?: Transcript['usage'] | undefined;
      readonly tasks?: Transcript['tasks'];
    }
  /** An older page of the chat's history was fetched. */
  | { readonly type: 'pageFetched'; readonly chatId: ChatId; readonly page: HistoryPage }
  /** A model, agent or variant was chosen in the chat. */
  | { readonly type: 'chosen'; readonly chatId: ChatId; readonly selection: Partial<Selection> }
  /** The user has chosen a value for an option of the outside agent. */
  | { readonly type: 'optionChosen'; readonly chatId: ChatId; readonly option: string; readonly value: string }
  /** The assistant asks the user a question. */
  | { readonly type: 'asked'; readonly question: Question }
  /** The question with this key needs no answer any more. */
  | { readonly type: 'answered'; readonly key: number }
  /** These steering messages wait in the chat now. */
  | { readonly type: 'steered'; readonly chatId: ChatId; readonly steers: readonly QueuedMessage[] }
  /** These questions wait in the queue of the chat now. */
  | { readonly type: 'queued'; readonly chatId: ChatId; readonly queue: readonly QueuedMessage[] }
  /** The list of the assistant's changes in the chat was fetched: see `loadChanges`. */
  | { readonly type: 'changesFetched'; readonly chatId: ChatId; readonly changes: readonly Change[] }
  /** The user has chosen the parts to leave out of the change of a waiting call. */
  | {
      readonly type: 'leftOut';
      readonly chatId: ChatId;
      readonly id: string;
      readonly parts: readonly number[];
      readonly remaining?: FileChangeDetails | undefined;
    }
  /** A message is shown to the user. */
  | { readonly type: 'message'; readonly message: Message }
  /** The user has closed the message with this key, or its time is over. */
  | { readonly type: 'dismissed'; readonly key: number };

/** Return a chat in which nothing was asked yet. */
export function createChat(id: ChatId): Chat {
  return { ...EMPTY_TRANSCRIPT, id, questions: [], steers: [], selection: {} };
}

/** Whether nothing was asked in a chat. The server does not know such a chat. */
export function isUnused({ seq, blocks, status }: Chat): boolean {
  return seq === 0 && blocks.length === 0 && status === 'idle';
}

/** Return the state before the first connection. */
export function createState(current: ChatId): State {
  return {
    connection: 'connecting',
    configured: false,
    current,
    chats: { [String(current)]: createChat(current) },
    list: [],
    models: [],
    agents: [],
    outsideAgents: [],
    selection: { model: '', agent: '', variant: '', variants: [] },
    welcome: '',
    servers: {},
    jobs: [],
    providers: {},
    untrusted: { folders: [], canTrust: false },
    messages: []
  };
}

/** Return the state after an action. The old state is not changed. */
export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case 'notification':
      return reduceNotification(state, action);
    case 'connection':
      return {
        ...state,
        connection: action.connection,
        ...(action.connection !== 'open' && { chats: dropQuestions(state) })
      };
    case 'welcomed':
      return { ...state, rights: action.rights, user: action.user };
    case 'listed':
      return { ...state, list: action.chats };
    case 'shown': {
      const chat = state.chats[String(action.chatId)] ?? createChat(action.chatId);
      return { ...state, current: action.chatId, chats: { ...state.chats, [String(action.chatId)]: chat } };
    }
    case 'replaying':
      return changeChat(state, action.chatId, chat => {
        const from = action.whole ? EMPTY_TRANSCRIPT : pickTranscript(chat);
        return { ...chat, replay: { from, now: from } };
      });
    case 'replayed':
      // If the server knows the chat, what was collected replaces the transcript. If not, nothing is running there.
      return changeChat(state, action.chatId, ({ replay, ...chat }) => ({
        ...chat,
        // Only the replay of a whole chat has `startCursor`, which may be undefined.
        ...(action.found && { ...replay?.now, ...('startCursor' in action && describeBeginning(action, replay?.now)) }),
        ...(!action.found && { status: 'idle', progress: '' })
      }));
    case 'pageFetched':
      return changeChat(state, action.chatId, chat =>
        prependPage(chat, action.page.contents.reduce(applyToChat, EMPTY_TRANSCRIPT), action.page)
      );
    case 'chosen':
      return changeChat(state, action.chatId, chat => ({
        ...chat,
        selection: { ...chat.selection, ...action.selection }
      }));
    case 'asked':
      return changeChat(state, action.question.chatId, chat => ({
        ...chat,
        questions: [...chat.questions, action.question]
      }));
    case 'answered':
      return {
        ...state,
        chats: mapChats(state, chat => filterQuestions(chat, question => question.key !== action.key))
      };
    case 'optionChosen':
      return changeChat(state, action.chatId, chat => ({
        ...chat,
        chosenOptions: { ...chat.chosenOptions, [action.option]: action.value }
      }));
    case 'steered':
      return changeChat(state, action.chatId, chat => ({ ...chat, steers: action.steers }));
    case 'queued':
      return changeChat(state, action.chatId, chat => ({ ...chat, queue: action.queue }));
    case 'changesFetched':
      return changeChat(state, action.chatId, chat => ({ ...chat, changes: action.changes }));
    case 'leftOut':
      return changeTranscript(state, findParent(state, action.chatId), before =>
        changeChatOrSubagent(before, action.chatId, transcript => ({
          ...transcript,
          blocks: setLeftOut(transcript.blocks, action.id, action.parts, action.remaining)
        }))
      );
    case 'message':
      return { ...state, messages: [...state.messages, action.message] };
    case 'dismissed':
      return { ...state, messages: state.messages.filter(({ key }) => key !== action.key) };
  }
}

/** Return the state after a notification of the server. */
function reduceNotification(state: State, action: ServerNotification): State {
  switch (action.method) {
    case 'chat/contentReceived':
      return reduceContent(state, action.params);
    case 'chat/toolCallProgress': {
      const report = action.params;
      return changeTranscript(state, findParent(state, report.chatId), before =>
        changeChatOrSubagent(before, report.chatId, transcript => ({
          ...transcript,
          blocks: setProgress(transcript.blocks, report)
        }))
      );
    }
    case 'chat/cleared':
      // `messages`: the messages were removed. Otherwise only the usage was.
      return changeTranscript(state, action.params.chatId, before =>
        action.params.messages ? { ...EMPTY_TRANSCRIPT, title: before.title } : { ...before, usage: null }
      );
    case 'chat/opened':
      return setTitle(state, action.params.chatId, action.params.title ?? '');
    case 'chat/statusChanged': {
      const { chatId, status } = action.params;
      const list = state.list.map(row =>
        row.id === chatId ? { ...row, status, ...(status === 'idle' && { waiting: false }) } : row
      );
      return changeTranscript({ ...state, list }, chatId, before => ({ ...before, status }));
    }
    case 'chat/deleted': {
      const { chatId } = action.params;
      const others = Object.fromEntries(Object.entries(state.chats).filter(([id]) => id !== String(chatId)));
      // If the chat is shown, an empty chat takes its place.
      const chats = state.current === chatId ? { ...others, [String(chatId)]: createChat(chatId) } : others;
      return { ...state, chats, list: state.list.filter(row => row.id !== chatId) };
    }
    case 'config/updated':
      return applyConfig(state, action.params);
    case 'tool/serverUpdated':
      return { ...state, servers: { ...state.servers, [action.params.name]: action.params } };
    case 'tool/serverRemoved': {
      const remainingServers = Object.entries(state.servers).filter(([name]) => name !== action.params.name);
      return { ...state, servers: Object.fromEntries(remainingServers) };
    }
    case 'providers/updated':
      return { ...state, providers: { ...state.providers, [action.params.id]: action.params } };
    case 'jobs/updated':
      return { ...state, jobs: action.params.jobs };
    case 'workspace/untrustedSettings':
      return { ...state, untrusted: action.params };
    default:
      return state;
  }
}

/** Return the state after a content of a chat. */
function reduceContent(before: State, params: ChatContentReceivedParams): State {
  const { chatId, content } = params;
  const state = markWaiting(before, params);
  // A content of a subagent changes only its transcript.
  if (params.parentChatId !== undefined) {
    return addToChat(state, params);
  }
  if (content.type === 'metadata') {
    return addToChat(setTitle(state, chatId, content.title), params);
  }
  const next = addToChat(state, params);
  switch (content.type) {
    // When the model has read a steering message, the server sends it as a text of the user. It no longer waits then.
    case 'text':
      return params.role === 'user'
        ? changeChat(next, chatId, chat => ({
            ...chat,
            steers: chat.steers.filter(steer => !content.text.includes(steer.text))
          }))
        : next;
    // The call that asked the question has ended, so the question was answered elsewhere.
    case 'toolCalled':
    case 'toolCallRejected':
      return changeChat(next, chatId, chat => filterQuestions(chat, question => question.toolCallId !== content.id));
    default:
      return next;
  }
}

/**
 * Mark in the list of chats whether a tool call of the chat waits for the user. The mark may be wrong, because several
 * calls may wait, and a content is about one call only. The next list that the server sends corrects the mark.
 */
function markWaiting(state: State, { chatId, parentChatId, content }: ChatContentReceivedParams): State {
  const waits = content.type === 'toolCallRun' && content.manualApproval;
  if (!waits && !DECISION_CONTENTS.has(content.type)) {
    return state;
  }
  const id = parentChatId ?? chatId;
  const isChanged = state.list.some(row => row.id === id && row.status !== 'idle' && (row.waiting ?? false) !== waits);
  return isChanged
    ? { ...state, list: state.list.map(row => (row.id === id ? { ...row, waiting: waits } : row)) }
    : state;
}

/**
 * Add a content to the chat or, while it is replayed, to its replay. Each content is applied once.
 *
 * Contents that arrive on a new connection before the replay begins will be repeated by the replay. When a `seq` is
 * lower than the last one, the replay has begun, and what was collected until then is discarded.
 */
function addToChat(state: State, params: ChatContentReceivedParams): State {
  return changeChat(state, params.parentChatId ?? params.chatId, chat => {
    const { replay } = chat;
    if (replay === undefined) {
      return isRepeated(chat, params) ? chat : { ...chat, ...applyToChat(chat, params) };
    }
    const before = isRepeated(replay.now, params) ? replay.from : replay.now;
    return isRepeated(before, params) ? chat : { ...chat, replay: { ...replay, now: applyToChat(before, params) } };
  });
}

/**
 * Apply a content to a chat's transcript. A subagent's content goes into its own transcript within the parent's chat.
 */
function applyToChat(before: Transcript, params: ChatContentReceivedParams): Transcript {
  return params.parentChatId === undefined
    ? applyContent(before, params)
    : changeSubagent(before, params.chatId, transcript => applyContent(transcript, params));
}

/** Change the transcript of a subagent within the transcript of its parent. */
function changeSubagent(before: Transcript, id: ChatId, change: (transcript: Transcript) => Transcript): Transcript {
  return { ...before, subagents: { ...before.subagents, [id]: change(before.subagents?.[id] ?? EMPTY_TRANSCRIPT) } };
}

/** Change the transcript of the chat with this id: a subagent's transcript in `before`, otherwise `before` itself. */
function changeChatOrSubagent(
  before: Transcript,
  id: ChatId,
  change: (transcript: Transcript) => Transcript
): Transcript {
  return before.subagents?.[id] === undefined ? change(before) : changeSubagent(before, id, change);
}

/**
 * Return the id of the chat that contains the transcript of the chat `id`: the parent of a subagent's chat, otherwise
 * `id` itself.
 */
export function findParent(state: State, id: ChatId): ChatId {
  return Object.values(state.chats).find(({ subagents }) => subagents?.[id] !== undefined)?.id ?? id;
}

/** A waiting tool call whose change will be made only in part: the user has chosen parts to leave out. */
export interface PartialCall {
  /** The chat of the call, which may be a subagent's. */
  readonly chatId: ChatId;
  /** The id of the call. */
  readonly id: string;
  /** The indexes of the parts that are left out. */
  readonly leftOut: readonly number[];
}

/**
 * List the waiting calls of a chat and its subagents of which the user leaves out some parts. `chatId` may also be the
 * chat of a subagent: then its parent's calls are listed, too.
 */
export function listPartialCalls(state: State, chatId: ChatId): readonly PartialCall[] {
  const parent = findParent(state, chatId);
  const { blocks = [], subagents = {} } = state.chats[String(parent)] ?? {};
  const listInBlocks = (id: ChatId, blocksOfChat: Blocks): readonly PartialCall[] =>
    blocksOfChat.flatMap(block =>
      block.kind === 'tool' && block.status === 'waiting' && block.leftOut !== undefined && block.leftOut.length > 0
        ? [{ chatId: id, id: block.id, leftOut: block.leftOut }]
        : []
    );
  return [
    ...listInBlocks(parent, blocks),
    ...Object.entries(subagents).flatMap(([id, transcript]) => listInBlocks(id, transcript.blocks))
  ];
}

/** Whether the content was applied before. */
function isRepeated(before: Transcript, { chatId, parentChatId, seq }: ChatContentReceivedParams): boolean {
  const last = parentChatId === undefined ? before.seq : (before.subagents?.[chatId]?.seq ?? 0);
  return seq !== undefined && seq > 0 && seq <= last;
}

/** Change the transcript of a chat or, while the chat is replayed, the transcript of the replay. */
function changeTranscript(state: State, id: ChatId, change: (before: Transcript) => Transcript): State {
  return changeChat(state, id, chat =>
    chat.replay === undefined
      ? { ...chat, ...change(chat) }
      : { ...chat, replay: { ...chat.replay, now: change(chat.replay.now) } }
  );
}

/** Set the title of a chat, also in the list of chats. An empty title changes nothing. */
function setTitle(state: State, id: ChatId, title: string): State {
  const list = state.list.map(row => (row.id === id && title !== '' ? { ...row, title } : row));
  return changeTranscript({ ...state, list }, id, before => ({ ...before, title: title || before.title }));
}

/**
 * Apply a configuration that the server sent: for all chats, or for one chat if it names one. An absent field means
 * "unchanged". Older servers call agents `behaviors`.
 */
function applyConfig(state: State, { chat, chatId }: ConfigUpdatedParams): State {
  if (chat === undefined) {
    return state;
  }
  const selection = readSelection(chat);
  if (chatId !== undefined) {
    return changeChat(state, chatId, before => ({
      ...before,
      selection: { ...before.selection, ...selection },
      ...(chat.agentOptions !== undefined && { agentOptions: chat.agentOptions, chosenOptions: {} })
    }));
  }
  return {
    ...state,
    configured: state.configured || chat.models !== undefined,
    models: chat.models ?? state.models,
    agents: chat.agents ?? chat.behaviors ?? state.agents,
    outsideAgents: chat.outsideAgents ?? state.outsideAgents,
    welcome: chat.welcomeMessage ?? state.welcome,
    selection: { ...state.selection, ...selection }
  };
}

/** Return what a configuration selects. A field that it does not have is left out. */
function readSelection(chat: ChatConfig): Partial<Selection> {
  const agent = chat.selectAgent ?? chat.selectBehavior;
  return {
    ...(chat.selectModel !== undefined && { model: chat.selectModel }),
    ...(agent !== undefined && { agent }),
    ...(chat.selectVariant !== undefined && { variant: chat.selectVariant }),
    ...(chat.variants !== undefined && { variants: chat.variants })
  };
}

/** Return the chats without their questions: when a connection is closed, the server does not wait for answers. */
function dropQuestions(state: State): State['chats'] {
  return mapChats(state, chat => filterQuestions(chat, () => false));
}

/**
 * Return the chat with only those questions for which `keeps` returns true. If these are all questions, the chat is
 * returned unchanged.
 */
function filterQuestions(chat: Chat, keeps: (question: Question) => boolean): Chat {
  return chat.questions.every(keeps) ? chat : { ...chat, questions: chat.questions.filter(keeps) };
}

/** Change a chat. A chat that was never shown is not added to the state, because all chats would need much memory. */
function changeChat(state: State, id: ChatId, change: (chat: Chat) => Chat): State {
  const chat = state.chats[String(id)];
  return chat === undefined ? state : { ...state, chats: { ...state.chats, [String(id)]: change(chat) } };
}

/** Return all chats, each changed by `change`. */
function mapChats(state: State, change: (chat: Chat) => Chat): State['chats'] {
  return Object.fromEntries(Object.entries(state.chats).map(([id, chat]) => [id, change(chat)]));
}

/** The types of contents that follow a decision about a tool call: somebody has just approved or rejected it. */
const DECISION_CONTENTS: ReadonlySet<string> = new Set(['toolCallRunning', 'toolCallRejected']);

/**
 * Whether a content must be shown at once. Streamed contents can wait a moment, because more of them follow. Contents
 * of a replay can wait, too.
 */
export function isUrgent(state: State, { chatId, content }: ChatContentReceivedParams): boolean {
  return DECISION_CONTENTS.has(content.type) && state.chats[String(chatId)]?.replay === undefined;
}

/**
 * Return what the server has sent about the part of the chat before the replayed part. `now` is the transcript of the
 * replay: if it has a usage, that is newer than the usage of the earlier part.
 */
function describeBeginning(
  { startCursor, usage, tasks }: Extract<Action, { type: 'replayed' }>,
  now?: Transcript
): Pick<Transcript, 'startCursor' | 'usage' | 'tasks'> {
  return { startCursor, usage: now?.usage ?? usage ?? null, tasks };
}
