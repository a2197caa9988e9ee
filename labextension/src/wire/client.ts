/**
 * The client of ECA, the protocol between the page and the assistant's server. It connects, sends the capabilities of
 * the page, sends requests, and calls handlers for the messages of the server.
 *
 * This module knows no socket and no view. The JSON-RPC peer is in `rpc.ts`, the WebSocket in `link.ts`, the checks in
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
  InitializeResult,
  NotebookDocument,
  NotebookEditParams,
  NotebookListResult,
  NotebookOpenParams,
  NotebookReadOutputsParams,
  NotebookReadOutputsResult,
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

/** All notifications of the server that the panel handles. The server's requests are handled in `Client.connect`. */
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

/** The method of a notification that the panel handles. */
export type NotificationMethod = (typeof NOTIFICATIONS)[number];

/**
 * Handles the messages of the server in a part of the page that a user sees: it shows them, and lets the user answer
 * questions. `Session` implements it.
 */
export interface ClientHandlers {
  /** Called with the method and the parameters of each notification. */
  handleNotification(method: NotificationMethod, params: unknown): void;
  /** Ask the user. `signal` aborts when somebody else has answered, or when no answer is needed any more. */
  askUser(question: ChatAskQuestionParams, signal: AbortSignal): Promise<ChatAskQuestionResult>;
  /** Called once, when the link has closed. */
  handleClose(): void;
}

/**
 * The notebooks that are open in the page, which the server reads, edits and runs through this interface.
 * `LiveNotebooks` implements it. When a method throws, the model reads the message of the error. So the message
 * describes the situation.
 */
export interface NotebookHost {
  /** List the notebooks that are open in the page. */
  list(): NotebookListResult;
  /** Return the cells of a notebook. */
  read(params: NotebookReadParams): Promise<NotebookDocument>;
  /** Return the outputs of cells that an answer of `read` or `edit` has left out. */
  readOutputs(params: NotebookReadOutputsParams): Promise<NotebookReadOutputsResult>;
  /** Change cells, and return the notebook after the change. */
  edit(params: NotebookEditParams): Promise<NotebookDocument>;
  /** Run cells. When `signal` aborts, the server needs no result any more, and the kernel is interrupted. */
  run(
    params: NotebookRunParams,
    signal: AbortSignal,
    onProgress: (progress: NotebookRunProgressParams) => void
  ): Promise<NotebookRunResult>;
  /** Open a notebook in the page. */
  open(params: NotebookOpenParams): Promise<Done>;
  /** Return what linters have found in the notebooks. */
  getDiagnostics(params: EditorGetDiagnosticsParams): EditorGetDiagnosticsResult;
  /** Receive a part of the answer while a cell is rewritten. */
  receiveRewrite(params: RewriteContentReceivedParams): void;
}

// A client sends its capabilities to the server when it connects. With `envelope` each content has its number and time.

/** The capabilities of a client with a user, who can approve calls, trust folders and answer questions. */
const WITH_USER: CodeAssistant = { chat: true, envelope: true, trust: true, chatCapabilities: { askQuestion: true } };
/** The capabilities of a client without a user. */
const WITHOUT_USER: CodeAssistant = { chat: true, envelope: true, unattended: true };
/** The capabilities of a client that receives nothing about chats. */
const WITHOUT_CHATS: CodeAssistant = { chat: false, unattended: true };
/** The additional capabilities of a client that lets the server read, edit and run the notebooks of the page. */
const WITH_NOTEBOOKS: CodeAssistant = { notebook: true, editor: { diagnostics: true } };
/** The additional capability of a client that also shows changes in the cells, with the buttons Keep and Undo. */
const WITH_REVIEW: CodeAssistant = { review: true };

/** The client on one link. The static functions create clients for different purposes: `connect` for a whole panel. */
export class Client {
  private constructor(
    private readonly peer: Peer<ClientMethods, ServerMethods>,
    /**
     * What the server has sent about the user of this client. `rights`: what the user may do; undefined if everything.
     * `user`: who the user is; undefined where the server does not distinguish its users.
     */
    readonly userInfo: Pick<InitializeResult, 'rights' | 'user'>
  ) {}

  /**
   * Connect to the server. Without `handlers`, tool calls cannot be approved here. Without `notebooks`, the server
   * cannot use the notebooks of this page.
   *
   * Throws: LinkError, RpcError.
   */
  static async connect(link: Link, handlers?: ClientHandlers, notebooks?: NotebookHost): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, () => handlers?.handleClose());
    if (handlers !== undefined) {
      for (const method of NOTIFICATIONS) {
        peer.handle(method, params => {
          const misfit = findMisfit(NOTIFICATION_PARAMS[method], params);
          if (misfit === undefined) {
            handlers.handleNotification(method, params);
          } else {
            console.warn('ECA: a malformed message was ignored', method, misfit);
          }
        });
      }
      peer.handle('chat/askQuestion', (params, signal) => {
        const misfit = findMisfit('ChatAskQuestionParams', params);
        if (misfit !== undefined) {
          throw new Error(`the question is malformed: ${misfit}`);
        }
        return handlers.askUser(params, signal);
      });
    }
    if (notebooks !== undefined) {
      serveNotebooks(peer, notebooks);
    }
    const canReview = handlers !== undefined && notebooks !== undefined;
    const capabilities = handlers === undefined ? WITHOUT_USER : { ...WITH_USER, ...(canReview && WITH_REVIEW) };
    return new Client(
      peer,
      await initialize(peer, { ...capabilities, ...(notebooks !== undefined && WITH_NOTEBOOKS) })
    );
  }

  /**
   * Connect only to let the server use the notebooks of this page. Notifications are not handled, because other clients
   * show the chats.
   *
   * Throws: LinkError, RpcError.
   */
  static async connectForNotebooks(link: Link, notebooks: NotebookHost, onClose: () => void): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, onClose);
    serveNotebooks(peer, notebooks);
    return new Client(peer, await initialize(peer, { ...WITHOUT_USER, ...WITH_NOTEBOOKS }));
  }

  /** Connect only to complete text: the server sends nothing about chats. Throws: LinkError, RpcError. */
  static async connectForCompletion(link: Link, onClose: () => void): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, onClose);
    return new Client(peer, await initialize(peer, WITHOUT_CHATS));
  }

  /** Send a request and return its result. When `signal` aborts, cancel the request. Throws: LinkError, RpcError. */
  request<K extends Requests<ClientMethods>>(
    method: K,
    params: ClientMethods[K]['params'],
    signal?: AbortSignal
  ): Promise<ClientMethods[K]['result']> {
    return this.peer.request(method, params, signal);
  }

  /** Send a notification, which has no answer. */
  notify<K extends Notifications<ClientMethods>>(method: K, params: ClientMethods[K]['params']): void {
    this.peer.notify(method, params);
  }

  /** Fetch the list of all chats. Throws: LinkError, RpcError. */
  listChats(): Promise<ChatListResult> {
    return this.peer.request('chat/list', {});
  }

  /** Stop the running turn of a chat. */
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

  /** Close the link. */
  close(): void {
    this.peer.close();
  }
}

/** Answer the server's requests about notebooks. */
function serveNotebooks(peer: Peer<ClientMethods, ServerMethods>, notebooks: NotebookHost): void {
  peer.handle('notebook/list', () => notebooks.list());
  peer.handle('notebook/read', params => notebooks.read(params));
  peer.handle('notebook/readOutputs', params => notebooks.readOutputs(params));
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

/** Send the first two messages that ECA requires. `codeAssistant` has the capabilities of the client. */
async function initialize(
  peer: Peer<ClientMethods, ServerMethods>,
  codeAssistant: CodeAssistant
): Promise<InitializeResult> {
  const result = await peer.request('initialize', {
    clientInfo: { name: 'jupyter-eca' },
    capabilities: { codeAssistant }
  });
  peer.notify('initialized', {});
  return result;
}
