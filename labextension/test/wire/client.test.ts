import { expect, test } from 'vitest';

import { Client } from '../../src/wire/client';
import {
  ChatId,
  ChatStatus,
  ChatSummary,
  ClientMethods,
  EditorGetDiagnosticsParams,
  EditorGetDiagnosticsResult,
  InitializeParams,
  NotebookListResult,
  ServerMethods
} from '../../src/wire/protocol';
import { Peer } from '../../src/wire/rpc';
import { createLinks } from '../support/memory_link';

/** A server with these chats, which notes what it was told. */
class Server {
  readonly told: string[] = [];
  readonly stopped: ChatId[] = [];
  greeting?: InitializeParams;

  constructor(
    readonly peer: Peer<ServerMethods, ClientMethods>,
    chats: readonly ChatSummary[]
  ) {
    peer.handle('initialize', params => {
      this.told.push('initialize');
      this.greeting = params;
      return { models: [], chatDefaultModel: '', chatBehaviors: [], chatDefaultBehavior: '', chatWelcomeMessage: '' };
    });
    peer.handle('initialized', () => {
      this.told.push('initialized');
    });
    peer.handle('chat/list', () => {
      this.told.push('chat/list');
      return { chats };
    });
    peer.handle('chat/promptStop', ({ chatId }) => {
      this.told.push('chat/promptStop');
      this.stopped.push(chatId);
    });
  }
}

function chat(id: ChatId, status: ChatStatus): ChatSummary {
  return { id, status, createdAt: 0, updatedAt: 0, messageCount: 1 };
}

async function connected(...chats: ChatSummary[]): Promise<[Client, Server]> {
  const [left, right] = createLinks();
  const server = new Server(new Peer(right), chats);
  return [await Client.connect(left), server];
}

test('the client initializes before its first request', async () => {
  const [client, server] = await connected();
  await client.listChats();
  expect(server.told).toEqual(['initialize', 'initialized', 'chat/list']);
});

test('the client does not offer to approve what it cannot show', async () => {
  const [, server] = await connected();
  expect(server.greeting?.capabilities?.codeAssistant).toMatchObject({ chat: true, unattended: true });
});

test('only running chats are stopped', async () => {
  const [client, server] = await connected(chat('a', 'running'), chat('b', 'idle'), chat(3, 'running'));
  expect((await client.stopRunning()).map(({ id }) => id)).toEqual(['a', 3]);
  expect(server.stopped).toEqual(['a', 3]);
});

test('the stops have reached the server when the client returns', async () => {
  const [client, server] = await connected(chat('a', 'running'));
  await client.stopRunning();
  expect(server.told.slice(2)).toEqual(['chat/list', 'chat/promptStop', 'chat/list']);
});

test('without a running chat nothing is sent', async () => {
  const [client, server] = await connected(chat('a', 'stopping'));
  expect(await client.stopRunning()).toEqual([]);
  expect(server.stopped).toEqual([]);
});

test('a page with notebooks declares them, returns their diagnostics, and refuses in a sentence for the model', async () => {
  const [ours, theirs] = createLinks();
  const server = new Server(new Peer(theirs), []);
  const refuse = (): never => {
    throw new Error('cell 3f6c is gone');
  };
  const getDiagnostics = ({ uri }: EditorGetDiagnosticsParams): EditorGetDiagnosticsResult => ({
    message: uri ?? 'all'
  });
  const list = (): NotebookListResult => ({ notebooks: [] });
  const receiveRewrite = (): void => undefined;
  const refusing = { read: refuse, readOutputs: refuse, edit: refuse, run: refuse, open: refuse };
  const notebooks = { ...refusing, list, getDiagnostics, receiveRewrite };
  await Client.connect(ours, undefined, notebooks);
  expect(server.greeting?.capabilities?.codeAssistant?.notebook).toBe(true);
  expect(server.greeting?.capabilities?.codeAssistant?.editor).toEqual({ diagnostics: true });
  expect(await server.peer.request('editor/getDiagnostics', { uri: 'jupyter:a' })).toEqual({ message: 'jupyter:a' });
  expect(await server.peer.request('notebook/list', {})).toEqual({ notebooks: [] });
  await expect(server.peer.request('notebook/read', { path: 'a.ipynb' })).rejects.toThrow(/^cell 3f6c is gone$/);
});
