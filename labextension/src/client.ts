/** What the panel asks of the server, typed. Knows no socket and no user interface. */

import { ChatId, ChatListResult, ChatSummary, ClientMethods, ServerMethods } from './protocol';
import { Link, Peer } from './rpc';

export class Client {
  private constructor(private readonly peer: Peer<ClientMethods, ServerMethods>) {}

  /** Greets the server, as one who cannot approve tool calls: no view shows them. Throws: LinkError, RpcError. */
  static async connect(link: Link): Promise<Client> {
    const peer = new Peer<ClientMethods, ServerMethods>(link);
    await peer.request('initialize', {
      clientInfo: { name: 'jupyter-eca' },
      capabilities: { codeAssistant: { chat: true, envelope: true, unattended: true } }
    });
    peer.notify('initialized', {});
    return new Client(peer);
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
