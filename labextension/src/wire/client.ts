/**
 * The ECA client: each request to the server as a typed method, and the handlers for what the server sends.
 *
 * Knows no socket and no view. The JSON-RPC peer is in `rpc.ts`, the WebSocket in `link.ts`, the checks in
 * `validate.ts`.
 */

import {
  ChatAskQuestionParams,
  ChatAskQuestionResult,
  ChatId,
  ChatListResult,
  ChatSummary,
  ClientMethods,
  CodeAssistant,
  Done,
  EditorGetDiagnosticsParams,
  EditorGetDiagnosticsResult,
  NotebookDocument,
  NotebookEditParams,
  NotebookListResult,
  NotebookOpenParams,
  NotebookReadParams,
  NotebookRunParams,
  NotebookRunProgressParams,
  NotebookRunResult,
  NOTIFICATION_PARAMS,
  RewriteContentReceivedParams,
  ServerMethods
} from './protocol';
import { Link, Notifications, Peer, Requests } from './rpc';
import { findMisfit } from './validate';

/** All notifications of the server that the panel handles. Its requests are handled one by one. */
const NOTIFICATIONS = [
  '$/showMessage',
  'chat/cleared',
  'chat/contentReceived',
  'chat/deleted',
  'chat/opened',
  'chat/statusChanged',
  'chat/toolCallProgress',
  'config/updated',
  'jobs/updated',
  'providers/updated',
  'tool/serverRemoved',
  'tool/serverUpdated',
  'workspace/untrustedSettings'
] as const satisfies readonly Notifications<ServerMethods>[];

export type NotificationMethod = (typeof NOTIFICATIONS)[number];

/** A front with a user who sees what the server sends, approves tool calls and answers questions. */
export interface Attendant {
  handleNotification(method: NotificationMethod, params: unknown): void;
  /** `signal` aborts when somebody else has answered, or when no answer is needed any more. */
  askUser(question: ChatAskQuestionParams, signal: AbortSignal): Promise<ChatAskQuestionResult>;
  handleClose(): void;
}

/**
 * The notebooks that are open in the page. The model reads the message of what is thrown, so it describes the
 * situation.
 */
export interface NotebookHost {
  list(): NotebookListResult;
  read(params: NotebookReadParams): Promise<NotebookDocument>;
  edit(params: NotebookEditParams): Promise<NotebookDocument>;
  /** When `signal` aborts, nobody waits for the result any more, and the kernel is interrupted. */
  run(
    params: NotebookRunParams,
    signal: AbortSignal,
    onProgress: (progress: NotebookRunProgressParams) => void
  ): Promise<NotebookRunResult>;
  open(params: NotebookOpenParams): Promise<Done>;
  /** Return what linters have found in the notebooks. */
  getDiagnostics(params: EditorGetDiagnosticsParams): EditorGetDiagnosticsResult;
  /** Take a part of the answer when a cell is being rewritten. */
  receiveRewrite(params: RewriteContentReceivedParams): void;
}

const UNATTENDED: CodeAssistant = { chat: true, envelope: true, unattended: true };
const NO_CHATS: CodeAssistant = { chat: false, unattended: true };
const NOTEBOOKS: CodeAssistant = { notebook: true, editor: { diagnostics: true } };
const ATTENDED: CodeAssistant = { chat: true, envelope: true, trust: true, chatCapabilities: { askQuestion: true } };

export class Client {
  private constructor(private readonly peer: Peer<ClientMethods, ServerMethods>) {}

  /** Connect to the server. Without an attendant, tool calls cannot be approved here. Throws: LinkError, RpcError. */
  static async connect(link: Link, attendant?: Attendant, notebooks?: NotebookHost): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, () => attendant?.handleClose());
    if (attendant !== undefined) {
      for (const method of NOTIFICATIONS) {
        peer.handle(method, params => {
          const trouble = findMisfit(NOTIFICATION_PARAMS[method], params);
          if (trouble === undefined) {
            attendant.handleNotification(method, params);
          } else {
            console.warn('ECA: a malformed message was ignored', method, trouble);
          }
        });
      }
      peer.handle('chat/askQuestion', (params, signal) => attendant.askUser(params, signal));
    }
    if (notebooks !== undefined) {
      serveNotebooks(peer, notebooks);
    }
    const capabilities = attendant === undefined ? UNATTENDED : ATTENDED;
    await initialize(peer, { ...capabilities, ...(notebooks !== undefined && NOTEBOOKS) });
    return new Client(peer);
  }

  /**
   * Connect only to lend notebooks to the server: other clients handle its notifications. Throws: LinkError, RpcError.
   */
  static async connectForNotebooks(link: Link, notebooks: NotebookHost, onClose: () => void): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, onClose);
    serveNotebooks(peer, notebooks);
    await initialize(peer, { ...UNATTENDED, ...NOTEBOOKS });
    return new Client(peer);
  }

  /** Connect only to complete text: the server sends nothing of chats. Throws: LinkError, RpcError. */
  static async connectForCompletion(link: Link, onClose: () => void): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, onClose);
    await initialize(peer, NO_CHATS);
    return new Client(peer);
  }

  /** Throws: LinkError, RpcError. */
  request<K extends Requests<ClientMethods>>(
    method: K,
    params: ClientMethods[K]['params'],
    signal?: AbortSignal
  ): Promise<ClientMethods[K]['result']> {
    return this.peer.request(method, params, signal);
  }

  notify<K extends Notifications<ClientMethods>>(method: K, params: ClientMethods[K]['params']): void {
    this.peer.notify(method, params);
  }

  listChats(): Promise<ChatListResult> {
    return this.peer.request('chat/list', {});
  }

  stopPrompt(chatId: ChatId): void {
    this.peer.notify('chat/promptStop', { chatId });
  }

  /** Stop all running chats and return them. */
  async stopRunning(): Promise<readonly ChatSummary[]> {
    const running = (await this.listChats()).chats.filter(chat => chat.status === 'running');
    for (const chat of running) {
      this.stopPrompt(chat.id);
    }
    if (running.length > 0) {
      // A notification has no answer. This request comes after the stops, so its answer shows that the server has read
      // them. If the link were closed earlier, the stops could be lost.
      await this.listChats();
    }
    return running;
  }

  close(): void {
    this.peer.close();
  }
}

function serveNotebooks(peer: Peer<ClientMethods, ServerMethods>, notebooks: NotebookHost): void {
  peer.handle('notebook/list', () => notebooks.list());
  peer.handle('notebook/read', params => notebooks.read(params));
  peer.handle('notebook/edit', params => notebooks.edit(params));
  peer.handle('notebook/run', (params, signal) =>
    notebooks.run(params, signal, progress => {
      peer.notify('notebook/runProgress', progress);
    })
  );
  peer.handle('notebook/open', params => notebooks.open(params));
  peer.handle('editor/getDiagnostics', params => notebooks.getDiagnostics(params));
  peer.handle('rewrite/contentReceived', params => {
    notebooks.receiveRewrite(params);
  });
}

async function initialize(peer: Peer<ClientMethods, ServerMethods>, codeAssistant: CodeAssistant): Promise<void> {
  await peer.request('initialize', { clientInfo: { name: 'jupyter-eca' }, capabilities: { codeAssistant } });
  peer.notify('initialized', {});
}
