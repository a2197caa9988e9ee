/** What is asked of the server, typed. Knows no socket and no user interface. */

import {
  ChatAskQuestionParams,
  ChatAskQuestionResult,
  ChatId,
  ChatListResult,
  ChatSummary,
  ClientMethods,
  CodeAssistant,
  Done,
  NotebookDocument,
  NotebookEditParams,
  NotebookListResult,
  NotebookOpenParams,
  NotebookReadParams,
  NotebookRunParams,
  NotebookRunResult,
  ServerMethods
} from './protocol';
import { Link, Notifications, Peer, Requests } from './rpc';

/** Everything that the server tells: requests are answered apart. */
const TOLD = [
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
  'tool/serverUpdated'
] as const satisfies readonly Notifications<ServerMethods>[];

export type ToldMethod = (typeof TOLD)[number];

/** Somebody who sees what the server tells, approves tool calls and answers questions. */
export interface Attendant {
  told(method: ToldMethod, params: unknown): void;
  /** `taken` tells when somebody else has answered, or nobody needs to any more. */
  asked(question: ChatAskQuestionParams, taken: AbortSignal): Promise<ChatAskQuestionResult>;
  gone(): void;
}

/** The notebooks that are open in the page. What is thrown is told the model: it says what is so, not who failed. */
export interface NotebookHost {
  list(): NotebookListResult;
  read(params: NotebookReadParams): Promise<NotebookDocument>;
  edit(params: NotebookEditParams): Promise<NotebookDocument>;
  /** `taken`: nobody waits for it any more, and the kernel is to stop. */
  run(params: NotebookRunParams, taken: AbortSignal): Promise<NotebookRunResult>;
  open(params: NotebookOpenParams): Promise<Done>;
}

const UNATTENDED: CodeAssistant = { chat: true, envelope: true, unattended: true };
const ATTENDED: CodeAssistant = { chat: true, envelope: true, chatCapabilities: { askQuestion: true } };

export class Client {
  private constructor(private readonly peer: Peer<ClientMethods, ServerMethods>) {}

  /** Greets the server; without an attendant as one who cannot approve tool calls. Throws: LinkError, RpcError. */
  static async connect(link: Link, attendant?: Attendant, notebooks?: NotebookHost): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link, () => attendant?.gone());
    if (attendant !== undefined) {
      for (const method of TOLD) {
        peer.handle(method, params => {
          attendant.told(method, params);
        });
      }
      peer.handle('chat/askQuestion', (params, taken) => attendant.asked(params, taken));
    }
    if (notebooks !== undefined) {
      peer.handle('notebook/list', () => notebooks.list());
      peer.handle('notebook/read', params => notebooks.read(params));
      peer.handle('notebook/edit', params => notebooks.edit(params));
      peer.handle('notebook/run', (params, taken) => notebooks.run(params, taken));
      peer.handle('notebook/open', params => notebooks.open(params));
    }
    const can = attendant === undefined ? UNATTENDED : ATTENDED;
    await peer.request('initialize', {
      clientInfo: { name: 'jupyter-eca' },
      capabilities: { codeAssistant: { ...can, ...(notebooks !== undefined && { notebook: true }) } }
    });
    peer.notify('initialized', {});
    return new Client(peer);
  }

  /** Throws: LinkError, RpcError. */
  request<K extends Requests<ClientMethods>>(
    method: K,
    params: ClientMethods[K]['params']
  ): Promise<ClientMethods[K]['result']> {
    return this.peer.request(method, params);
  }

  notify<K extends Notifications<ClientMethods>>(method: K, params: ClientMethods[K]['params']): void {
    this.peer.notify(method, params);
  }

  chatList(): Promise<ChatListResult> {
    return this.peer.request('chat/list', {});
  }

  promptStop(chatId: ChatId): void {
    this.peer.notify('chat/promptStop', { chatId });
  }

  /** The chats that were running and have been told to stop. */
  async stopRunning(): Promise<readonly ChatSummary[]> {
    const running = (await this.chatList()).chats.filter(chat => chat.status === 'running');
    for (const chat of running) {
      this.promptStop(chat.id);
    }
    if (running.length > 0) {
      // A notification has no answer. This one comes after the stops, so it says that the server has read them:
      // closing the link before would be a race.
      await this.chatList();
    }
    return running;
  }

  close(): void {
    this.peer.close();
  }
}
