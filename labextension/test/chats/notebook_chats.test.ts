/** Which chat the panel shows when the user goes from one notebook to another. */

import { expect, test, vi } from 'vitest';

import { findNewestChat, NotebookChatStore, NotebookFollower } from '../../src/chats/notebook_chats';
import { Drafts } from '../../src/chat/drafts';
import { Session } from '../../src/chat/session';
import { TabStorage } from '../../src/chat/tab_storage';
import { listChatsOfOthers } from '../../src/chat/waiting_chats';
import { ChatSummary, ClientMethods, ServerMethods } from '../../src/wire/protocol';
import { Peer } from '../../src/wire/rpc';
import { createLinks } from '../support/memory_link';

const nothing = (): void => undefined;

function chat(id: string, updatedAt: number, notebook?: string): ChatSummary {
  const times = { createdAt: 0, updatedAt, messageCount: 1 };
  return { id, status: 'idle', ...times, ...(notebook !== undefined && { notebook }) };
}

/** A panel, the list of chats of its server, and the notebook that is in front of it. */
class Page {
  readonly list: ChatSummary[] = [];
  front: string | undefined;
  isPinned = false;
  readonly session: Session;
  readonly follower: NotebookFollower;
  readonly drafts = new Drafts();
  private readonly server: Peer<ServerMethods, ClientMethods>;
  /** What the user does while the list of chats is fetched. */
  whileListing: (notebook: string | undefined) => unknown = nothing;

  constructor(store: NotebookChatStore) {
    const [ours, theirs] = createLinks();
    const server = (this.server = new Peer<ServerMethods, ClientMethods>(theirs));
    const defaults = { chatDefaultModel: '', chatBehaviors: [], chatDefaultBehavior: '', chatWelcomeMessage: '' };
    const user = { username: 'ada', name: 'Ada' };
    server.handle('initialize', () => ({ models: [], user, ...defaults }));
    server.handle('chat/list', ({ notebook }) => {
      this.whileListing(notebook);
      return { chats: this.list };
    });
    server.handle('chat/prompt', ({ chatId = '' }) => ({ chatId, model: '', status: 'prompting' }));
    server.handle('chat/open', () => ({ found: true }));
    server.handle('chat/selection', () => ({ variants: [], trust: false }));
    let created = 0;
    this.session = new Session({
      open: () => Promise.resolve(ours),
      createId: () => `new ${String(created++)}`,
      callLater: () => nothing
    });
    this.follower = new NotebookFollower(
      this.session,
      store,
      this.drafts,
      () => this.front,
      () => this.isPinned
    );
  }

  /** Let somebody ask in a chat about a notebook, and wait until the page knows of it. */
  async letAsk(id: string, notebook: string, username: string): Promise<void> {
    const askedBy = { username, name: username };
    this.list.push({ ...chat(id, 9, notebook), status: 'running', askedBy });
    this.server.notify('chat/statusChanged', { chatId: id, status: 'running' });
    await vi.waitFor(() => {
      expect(this.session.state.list.map(listed => listed.id)).toContain(id);
    });
  }

  /** Go to a notebook and return the chat that is shown with it. */
  async goTo(notebook: string | undefined): Promise<unknown> {
    this.front = notebook;
    await this.follower.follow();
    return this.session.chat.id;
  }
}

function createStorage(): TabStorage {
  const values = new Map<string, string>();
  return new TabStorage('/', () => ({
    getItem: name => values.get(name) ?? null,
    setItem: (name, value) => values.set(name, value),
    removeItem: name => values.delete(name)
  }));
}

test('the newest chat of a notebook is its own', () => {
  const list = [chat('a', 1, 'x.ipynb'), chat('b', 3, 'x.ipynb'), chat('c', 5, 'y.ipynb'), chat('d', 9)];
  expect(findNewestChat(list, 'x.ipynb')).toBe('b');
  expect(findNewestChat(list, 'z.ipynb')).toBeUndefined();
});

test('each notebook brings its own chat, and a notebook without one a new chat', async () => {
  const page = new Page(createStorage());
  page.list.push(chat('of a', 1, 'a.ipynb'));
  await page.session.connect();
  expect(await page.goTo(undefined)).toBe('new 0');
  expect(await page.goTo('a.ipynb')).toBe('of a');
  expect(await page.goTo('b.ipynb')).toBe('new 1');
  expect(await page.goTo(undefined)).toBe('new 1');
  expect(await page.goTo('a.ipynb')).toBe('of a');
  expect(await page.goTo('b.ipynb')).toBe('new 1');
});

test('the chat that was begun by cells since the panel was opened is found', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  page.list.push(chat('of cells', 1, 'a.ipynb'));
  expect(await page.goTo('a.ipynb')).toBe('of cells');
});

test('the chat that was typed into before any notebook was open belongs to the first one', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  expect(await page.goTo('a.ipynb')).toBe('new 0');
  expect(await page.goTo('b.ipynb')).toBe('new 1');
});

test('a chat that the user opened with a notebook comes back with it, also after a reload', async () => {
  const storage = createStorage();
  const page = new Page(storage);
  page.list.push(chat('of a', 1, 'a.ipynb'), chat('other', 2, 'c.ipynb'));
  await page.session.connect();
  await page.goTo('a.ipynb');
  await page.session.openChat('other');
  await page.goTo('b.ipynb');
  expect(await page.goTo('a.ipynb')).toBe('other');
  const reloaded = new Page(storage);
  await reloaded.session.connect();
  expect(await reloaded.goTo('a.ipynb')).toBe('other');
});

test('a pinned chat stays, and the panel follows again when it is unpinned', async () => {
  const page = new Page(createStorage());
  page.list.push(chat('of a', 1, 'a.ipynb'), chat('of b', 1, 'b.ipynb'));
  await page.session.connect();
  await page.goTo('a.ipynb');
  page.isPinned = true;
  expect(await page.goTo('b.ipynb')).toBe('of a');
  page.isPinned = false;
  expect(await page.goTo('b.ipynb')).toBe('of b');
  expect(await page.goTo('a.ipynb')).toBe('of a');
});

test('a chat that runs stays when it opens a notebook, and belongs to that notebook from then on', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  const chatId = await page.goTo('a.ipynb');
  // A chat that does nothing opens no notebook.
  page.follower.keepRunningChat('b.ipynb');
  expect(await page.goTo('b.ipynb')).not.toBe(chatId);
  await page.goTo('a.ipynb');
  const params = { chatId: String(chatId), status: 'running' } as const;
  page.session.dispatch({ type: 'notification', method: 'chat/statusChanged', params });
  page.follower.keepRunningChat('made.ipynb');
  expect(await page.goTo('made.ipynb')).toBe(chatId);
  expect(await page.goTo('b.ipynb')).not.toBe(chatId);
  expect(await page.goTo('made.ipynb')).toBe(chatId);
});

test('without a connection the panel keeps its chat', async () => {
  const page = new Page(createStorage());
  expect(await page.goTo('a.ipynb')).toBe('new 0');
});

test('a renamed notebook keeps its chats, and another notebook with the old name gets none of them', async () => {
  const storage = createStorage();
  const page = new Page(storage);
  page.list.push(chat('older', 1, 'Untitled.ipynb'), chat('newer', 2, 'Untitled.ipynb'));
  await page.session.connect();
  await page.goTo('Untitled.ipynb');
  await page.session.openChat('older');
  page.follower.rename('Untitled.ipynb', 'mice.ipynb');
  expect(await page.goTo('mice.ipynb')).toBe('older');
  expect(await page.goTo('Untitled.ipynb')).toBe('new 1');
  expect(await page.goTo('mice.ipynb')).toBe('older');
  const reloaded = new Page(storage);
  await reloaded.session.connect();
  expect(await reloaded.goTo('mice.ipynb')).toBe('older');
});

test('a notebook that is renamed twice keeps its chats, whether the server has heard of it or not', async () => {
  for (const heard of ['Untitled.ipynb', 'mice.ipynb', 'rats.ipynb']) {
    const page = new Page(createStorage());
    page.list.push(chat('older', 1, 'Untitled.ipynb'), chat('newer', 2, 'Untitled.ipynb'));
    await page.session.connect();
    page.follower.rename('Untitled.ipynb', 'mice.ipynb');
    page.follower.rename('mice.ipynb', 'rats.ipynb');
    page.list.splice(0, 2, chat('older', 1, heard), chat('newer', 2, heard));
    expect(await page.goTo('rats.ipynb')).toBe('newer');
  }
});

test('a notebook that is renamed while it is in front still follows the choice of the user', async () => {
  const page = new Page(createStorage());
  page.list.push(chat('of a', 1, 'a.ipynb'), chat('other', 2, 'c.ipynb'));
  await page.session.connect();
  await page.goTo('a.ipynb');
  page.front = 'renamed.ipynb';
  page.follower.rename('a.ipynb', 'renamed.ipynb');
  await page.session.openChat('other');
  await page.goTo('b.ipynb');
  expect(await page.goTo('renamed.ipynb')).toBe('other');
});

test('the chat whose first answer is under way goes with its renamed notebook', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  expect(await page.goTo('Untitled.ipynb')).toBe('new 0');
  page.list.push(chat('new 0', 1, 'Untitled.ipynb'));
  page.follower.rename('Untitled.ipynb', 'mice.ipynb');
  expect(await page.goTo('Untitled.ipynb')).toBe('new 1');
  expect(await page.goTo('mice.ipynb')).toBe('new 0');
});

test('the follower knows which chats come back with their notebooks', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  const first = String(await page.goTo('a.ipynb'));
  expect(page.follower.isNotebookChat(first)).toBe(true);
  page.session.startChat();
  // The notebook comes back with the newer chat.
  expect(page.follower.isNotebookChat(first)).toBe(false);
  const { id } = page.session.chat;
  page.front = 'renamed.ipynb';
  page.follower.rename('a.ipynb', 'renamed.ipynb');
  await page.goTo('b.ipynb');
  expect([id, page.session.chat.id].map(page.follower.isNotebookChat)).toEqual([true, true]);
});

test('a question that is asked before the chats are known stays in view, and its chat is that of the notebook', async () => {
  const page = new Page(createStorage());
  page.list.push(chat('of a', 1, 'a.ipynb'));
  await page.session.connect();
  page.whileListing = () => page.session.prompt('why?', [], page.session.chat, 'a.ipynb');
  expect(await page.goTo('a.ipynb')).toBe('new 0');
  await page.goTo('b.ipynb');
  expect(await page.goTo('a.ipynb')).toBe('new 0');
});

test('a chat that the user opens before the chats are known stays in view', async () => {
  const page = new Page(createStorage());
  page.list.push(chat('of a', 1, 'a.ipynb'), chat('other', 2, 'c.ipynb'));
  await page.session.connect();
  page.whileListing = () => page.session.openChat('other');
  expect(await page.goTo('a.ipynb')).toBe('other');
});

test('what was typed before the chat of the notebook is shown goes along with it', async () => {
  const page = new Page(createStorage());
  page.list.push(chat('of a', 1, 'a.ipynb'));
  await page.session.connect();
  page.drafts.set('new 0', { text: 'wh', contexts: [] });
  expect(await page.goTo('a.ipynb')).toBe('of a');
  expect(page.drafts.get('of a').text).toBe('wh');
  expect(page.drafts.get('new 0').text).toBe('');
});

test('a notebook that was moved outside of Jupyter is named to the server, which then lists its chat with it', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  page.whileListing = notebook => {
    page.list.push(chat('of a', 1, notebook));
  };
  expect(await page.goTo('moved/a.ipynb')).toBe('of a');
});

test('where nothing was begun, the chat in which somebody else asks about the notebook is shown, once', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  await page.goTo('a.ipynb');
  await page.letAsk('about b', 'b.ipynb', 'ben');
  expect(page.session.chat.id).toBe('new 0');
  await page.letAsk('about a', 'a.ipynb', 'ben');
  expect(page.session.chat.id).toBe('about a');
  page.session.startChat();
  expect(page.session.chat.id).toBe('new 1');
});

test('who has begun something is told of the chat in which somebody else asks, and keeps the own one', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  await page.goTo('a.ipynb');
  page.drafts.set(page.session.chat.id, { text: 'I think', contexts: [] });
  await page.letAsk('about a', 'a.ipynb', 'ben');
  expect(page.session.chat.id).toBe('new 0');
  const listOthers = (): unknown => listChatsOfOthers(page.session.state, page.front).map(({ id }) => id);
  expect(listOthers()).toEqual(['about a']);
  await page.session.openChat('about a');
  expect(listOthers()).toEqual([]);
});

test('a chat that a cell begins replaces the empty chat beside its notebook', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  expect(await page.goTo('a.ipynb')).toBe('new 0');
  await page.letAsk('of cells', 'a.ipynb', 'ada');
  expect(page.session.chat.id).toBe('of cells');
});

test('a chat that a cell begins replaces neither a draft nor a chat that the user has opened', async () => {
  const page = new Page(createStorage());
  await page.session.connect();
  await page.goTo('a.ipynb');
  page.drafts.set(page.session.chat.id, { text: 'Why', contexts: [] });
  await page.letAsk('of cells', 'a.ipynb', 'ada');
  expect(page.session.chat.id).toBe('new 0');
  page.drafts.delete(page.session.chat.id);
  page.session.startChat();
  await page.letAsk('of more cells', 'a.ipynb', 'ada');
  expect(page.session.chat.id).toBe('new 1');
});
