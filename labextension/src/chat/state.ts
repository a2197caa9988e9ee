/**
 * The state of the panel, computed by a reducer from what the server sent and what the user did. Pure.
 *
 * A content with a `seq` is taken once, so a replay may repeat what is shown already. While a chat is replayed, the new
 * transcript is collected in `replay` and shown when the replay is complete: the reader sees no gap and no flicker.
 * Knows no connection (`session.ts`); the transcript itself is in `transcript.ts` and `blocks.ts`.
 */

import { setProgress } from './blocks';
import { withEarlier } from './pages';
import {
  ChatAskQuestionParams,
  ChatConfig,
  ChatContentReceivedParams,
  ChatId,
  ChatSummary,
  ConfigUpdatedParams,
  Job,
  ProviderStatus,
  ServerMethods,
  ToolServerUpdatedParams,
  UntrustedSettingsParams
} from '../wire/protocol';
import { EMPTY, applyContent, Transcript, pickTranscript } from './transcript';
import type { Change, Earlier, Queued } from './types';

/** `lost`: there was a connection, and it is tried again. `absent`: there was none yet. */
export type Connection = 'connecting' | 'open' | 'lost' | 'absent';

export interface Question extends ChatAskQuestionParams {
  readonly key: number;
}

/** The model, agent and variant of the next turn. An empty name leaves the choice to the server. */
export interface Selection {
  readonly model: string;
  readonly agent: string;
  readonly variant: string;
  readonly variants: readonly string[];
}

export type { Transcript } from './transcript';

export interface Chat extends Transcript {
  readonly id: ChatId;
  /** Questions of the assistant that nobody has answered yet. */
  readonly questions: readonly Question[];
  /** Messages for the running turn that the model has not read yet. */
  readonly steers: readonly string[];
  /** Questions that are asked when the running turn has ended. */
  readonly queue?: readonly Queued[];
  /** What was chosen in this chat, over the selection of all chats. */
  readonly selection: Partial<Selection>;
  /** Changes that are neither kept nor undone. */
  readonly changes?: readonly Change[];
  /** While the chat is replayed: the transcript before the replay, and the one that is being collected. */
  readonly replay?: { readonly from: Transcript; readonly now: Transcript };
}

export interface Message {
  readonly key: number;
  readonly type: 'error' | 'warning' | 'info';
  readonly text: string;
}

export interface State {
  readonly connection: Connection;
  /** Whether the server has said what it is set up with. */
  readonly configured: boolean;
  readonly current: ChatId;
  readonly chats: Readonly<Record<string, Chat>>;
  readonly list: readonly ChatSummary[];
  readonly models: readonly string[];
  readonly agents: readonly string[];
  readonly selection: Selection;
  readonly welcome: string;
  readonly servers: Readonly<Record<string, ToolServerUpdatedParams>>;
  readonly jobs: readonly Job[];
  readonly providers: Readonly<Record<string, ProviderStatus>>;
  /** The settings of folders that do nothing until the user trusts the folder. */
  readonly untrusted: UntrustedSettingsParams;
  readonly messages: readonly Message[];
}

type ServerNotification = {
  [K in keyof ServerMethods]: { readonly method: K; readonly params: ServerMethods[K]['params'] };
}[keyof ServerMethods];

export type Action =
  | ({ readonly type: 'told' } & ServerNotification)
  | { readonly type: 'connection'; readonly connection: Connection }
  | { readonly type: 'listed'; readonly chats: readonly ChatSummary[] }
  /** A chat is shown. It begins empty when it is not known. */
  | { readonly type: 'shown'; readonly chatId: ChatId }
  /** A replay begins: of the whole chat, or of what came after its `seq`. `replayed` follows when it is complete. */
  | { readonly type: 'replaying'; readonly chatId: ChatId; readonly whole: boolean }
  | {
      readonly type: 'replayed';
      readonly chatId: ChatId;
      readonly found: boolean;
      readonly before?: Transcript['before'];
    }
  | { readonly type: 'earlier'; readonly chatId: ChatId; readonly page: Earlier }
  | { readonly type: 'chosen'; readonly chatId: ChatId; readonly selection: Partial<Selection> }
  | { readonly type: 'asked'; readonly question: Question }
  | { readonly type: 'answered'; readonly key: number }
  | { readonly type: 'steered'; readonly chatId: ChatId; readonly steers: readonly string[] }
  | { readonly type: 'queued'; readonly chatId: ChatId; readonly queue: readonly Queued[] }
  | { readonly type: 'reviewed'; readonly chatId: ChatId; readonly changes: readonly Change[] }
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'dismissed'; readonly key: number };

export function createChat(id: ChatId): Chat {
  return { ...EMPTY, id, questions: [], steers: [], selection: {} };
}

export function createState(current: ChatId): State {
  return {
    connection: 'connecting',
    configured: false,
    current,
    chats: { [String(current)]: createChat(current) },
    list: [],
    models: [],
    agents: [],
    selection: { model: '', agent: '', variant: '', variants: [] },
    welcome: '',
    servers: {},
    jobs: [],
    providers: {},
    untrusted: { folders: [], canTrust: false },
    messages: []
  };
}

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case 'told':
      return reduceNotification(state, action);
    case 'connection':
      return {
        ...state,
        connection: action.connection,
        ...(action.connection !== 'open' && { chats: dropQuestions(state) })
      };
    case 'listed':
      return { ...state, list: action.chats };
    case 'shown': {
      const chat = state.chats[String(action.chatId)] ?? createChat(action.chatId);
      return { ...state, current: action.chatId, chats: { ...state.chats, [String(action.chatId)]: chat } };
    }
    case 'replaying':
      return changeChat(state, action.chatId, chat => {
        const from = action.whole ? EMPTY : pickTranscript(chat);
        return { ...chat, replay: { from, now: from } };
      });
    case 'replayed':
      return changeChat(state, action.chatId, ({ replay, ...chat }) => ({
        ...chat,
        ...(action.found && { ...replay?.now, ...('before' in action && { before: action.before }) }),
        ...(!action.found && { status: 'idle', progress: '' })
      }));
    case 'earlier':
      return changeChat(state, action.chatId, chat =>
        withEarlier(chat, action.page.contents.reduce(takeContent, EMPTY), action.page)
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
    case 'steered':
      return changeChat(state, action.chatId, chat => ({ ...chat, steers: action.steers }));
    case 'queued':
      return changeChat(state, action.chatId, chat => ({ ...chat, queue: action.queue }));
    case 'reviewed':
      return changeChat(state, action.chatId, chat => ({ ...chat, changes: action.changes }));
    case 'message':
      return { ...state, messages: [...state.messages, action.message] };
    case 'dismissed':
      return { ...state, messages: state.messages.filter(({ key }) => key !== action.key) };
  }
}

function reduceNotification(state: State, action: ServerNotification): State {
  switch (action.method) {
    case 'chat/contentReceived':
      return reduceContent(state, action.params);
    case 'chat/toolCallProgress': {
      const report = action.params;
      return changeTranscript(state, findParent(state, report.chatId), before =>
        changePart(before, report.chatId, one => ({ ...one, blocks: setProgress(one.blocks, report) }))
      );
    }
    case 'chat/cleared':
      return changeTranscript(state, action.params.chatId, before =>
        action.params.messages ? { ...EMPTY, title: before.title } : { ...before, usage: null }
      );
    case 'chat/opened':
      return setTitle(state, action.params.chatId, action.params.title ?? '');
    case 'chat/statusChanged': {
      const { chatId, status } = action.params;
      const list = state.list.map(row => (row.id === chatId ? { ...row, status } : row));
      return changeTranscript({ ...state, list }, chatId, before => ({ ...before, status }));
    }
    case 'chat/deleted': {
      const { chatId } = action.params;
      const chats = Object.fromEntries(Object.entries(state.chats).filter(([id]) => id !== String(chatId)));
      const kept = state.current === chatId ? { ...chats, [String(chatId)]: createChat(chatId) } : chats;
      return { ...state, chats: kept, list: state.list.filter(row => row.id !== chatId) };
    }
    case 'config/updated':
      return applyConfig(state, action.params);
    case 'tool/serverUpdated':
      return { ...state, servers: { ...state.servers, [action.params.name]: action.params } };
    case 'tool/serverRemoved': {
      const rest = Object.entries(state.servers).filter(([name]) => name !== action.params.name);
      return { ...state, servers: Object.fromEntries(rest) };
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

function reduceContent(state: State, params: ChatContentReceivedParams): State {
  const { chatId, content } = params;
  if (params.parentChatId !== undefined) {
    return addToChat(state, params);
  }
  if (content.type === 'metadata') {
    return addToChat(setTitle(state, chatId, content.title), params);
  }
  const next = addToChat(state, params);
  switch (content.type) {
    case 'text':
      return params.role === 'user'
        ? changeChat(next, chatId, chat => ({
            ...chat,
            steers: chat.steers.filter(words => !content.text.includes(words))
          }))
        : next;
    // The call that asked has ended, so its question was answered elsewhere.
    case 'toolCalled':
    case 'toolCallRejected':
      return changeChat(next, chatId, chat => filterQuestions(chat, question => question.toolCallId !== content.id));
    default:
      return next;
  }
}

/**
 * Add a content to the chat, or to its replay. Each content is taken once.
 *
 * Contents that arrive on a new connection before the replay begins are part of the replay as well. When a `seq` goes
 * back, the replay has begun, and what was collected until then is discarded.
 */
function addToChat(state: State, params: ChatContentReceivedParams): State {
  return changeChat(state, params.parentChatId ?? params.chatId, chat => {
    const { replay } = chat;
    if (replay === undefined) {
      return isRepeated(chat, params) ? chat : { ...chat, ...takeContent(chat, params) };
    }
    const before = isRepeated(replay.now, params) ? replay.from : replay.now;
    return isRepeated(before, params) ? chat : { ...chat, replay: { ...replay, now: takeContent(before, params) } };
  });
}

/** Apply a content. Those of a subagent go into their own transcript within the parent's chat. */
function takeContent(before: Transcript, params: ChatContentReceivedParams): Transcript {
  return params.parentChatId === undefined
    ? applyContent(before, params)
    : changeSubagent(before, params.chatId, one => applyContent(one, params));
}

function changeSubagent(before: Transcript, id: ChatId, change: (one: Transcript) => Transcript): Transcript {
  return { ...before, agents: { ...before.agents, [id]: change(before.agents?.[id] ?? EMPTY) } };
}

/** Change the transcript of the chat, which is a part of `before` if the chat is a subagent's. */
function changePart(before: Transcript, id: ChatId, change: (one: Transcript) => Transcript): Transcript {
  return before.agents?.[id] === undefined ? change(before) : changeSubagent(before, id, change);
}

/** Return the chat that shows a subagent's chat; for any other chat, the chat itself. */
function findParent(state: State, id: ChatId): ChatId {
  return Object.values(state.chats).find(({ agents }) => agents?.[id] !== undefined)?.id ?? id;
}

/** Whether the content was taken before. */
function isRepeated(before: Transcript, { chatId, parentChatId, seq }: ChatContentReceivedParams): boolean {
  const last = parentChatId === undefined ? before.seq : (before.agents?.[chatId]?.seq ?? 0);
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

function setTitle(state: State, id: ChatId, title: string): State {
  const list = state.list.map(row => (row.id === id && title !== '' ? { ...row, title } : row));
  return changeTranscript({ ...state, list }, id, before => ({ ...before, title: title || before.title }));
}

/** An absent field means "unchanged". Older servers call agents `behaviors`. */
function applyConfig(state: State, { chat, chatId }: ConfigUpdatedParams): State {
  if (chat === undefined) {
    return state;
  }
  const selection = readSelection(chat);
  if (chatId !== undefined) {
    return changeChat(state, chatId, before => ({ ...before, selection: { ...before.selection, ...selection } }));
  }
  return {
    ...state,
    configured: state.configured || chat.models !== undefined,
    models: chat.models ?? state.models,
    agents: chat.agents ?? chat.behaviors ?? state.agents,
    welcome: chat.welcomeMessage ?? state.welcome,
    selection: { ...state.selection, ...selection }
  };
}

function readSelection(chat: ChatConfig): Partial<Selection> {
  const agent = chat.selectAgent ?? chat.selectBehavior;
  return {
    ...(chat.selectModel !== undefined && { model: chat.selectModel }),
    ...(agent !== undefined && { agent }),
    ...(chat.selectVariant !== undefined && { variant: chat.selectVariant }),
    ...(chat.variants !== undefined && { variants: chat.variants })
  };
}

/** Return the chats without questions: on a connection that is closed nobody waits for the answers. */
function dropQuestions(state: State): State['chats'] {
  return mapChats(state, chat => filterQuestions(chat, () => false));
}

function filterQuestions(chat: Chat, kept: (question: Question) => boolean): Chat {
  return chat.questions.every(kept) ? chat : { ...chat, questions: chat.questions.filter(kept) };
}

/** Change a chat that was shown before. Others are not kept: the contents of all chats would fill the memory. */
function changeChat(state: State, id: ChatId, change: (chat: Chat) => Chat): State {
  const chat = state.chats[String(id)];
  return chat === undefined ? state : { ...state, chats: { ...state.chats, [String(id)]: change(chat) } };
}

function mapChats(state: State, change: (chat: Chat) => Chat): State['chats'] {
  return Object.fromEntries(Object.entries(state.chats).map(([id, chat]) => [id, change(chat)]));
}

/** Contents that follow a decision: somebody has just clicked, here or elsewhere. */
const DECIDED: ReadonlySet<string> = new Set(['toolCallRunning', 'toolCallRejected']);

/** Whether a content is shown at once. Streamed content is not, because more follows, nor is that of a replay. */
export function isUrgent(state: State, { chatId, content }: ChatContentReceivedParams): boolean {
  return DECIDED.has(content.type) && state.chats[String(chatId)]?.replay === undefined;
}
