/** What is typed and not sent outlives its prompt box, and its text outlives the page. */

import { expect, test } from 'vitest';

import { Drafts, putBackMessage, startChat } from '../../src/chat/drafts';
import { Session } from '../../src/chat/session';
import { TabStorage } from '../../src/chat/tab_storage';
import { ChatContext } from '../../src/wire/protocol';
import { LinkError } from '../../src/wire/rpc';

const file: ChatContext = { type: 'file', path: 'a.py' };

/** Return a function that loads the page: each call returns new drafts over the same store of the browser. */
function openTab(): () => Drafts {
  const stored = new Map<string, string>();
  const store = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key)
  };
  return () => new Drafts(new TabStorage('widget a.ipynb', () => store));
}

function createSession(): Session {
  let created = 0;
  return new Session({
    open: () => Promise.reject(new LinkError('refused')),
    createId: () => `new ${String(created++)}`,
    callLater: () => () => undefined
  });
}

test('after a reload a draft is there with its contexts, without those that have a content', () => {
  const load = openTab();
  const picture: ChatContext = { type: 'image', mediaType: 'image/png', base64: 'AAAA' };
  load().set('c', { text: 'half a thought', contexts: [file, picture] });
  expect(load().get('c')).toEqual({ text: 'half a thought', contexts: [file] });
  load().delete('c');
  expect(load().get('c')).toEqual({ text: '', contexts: [] });
});

test('a draft of the page before the reload moves to another chat', () => {
  const load = openTab();
  load().set('old', { text: 'half a thought', contexts: [] });
  load().move('old', 'new');
  const drafts = load();
  expect([drafts.get('old').text, drafts.get('new').text]).toEqual(['', 'half a thought']);
});

test('a draft that moves to a chat with a draft is added after it, so that neither is lost', () => {
  const drafts = openTab()();
  drafts.set('c', { text: 'before the reload', contexts: [] });
  drafts.set('first', { text: 'typed since', contexts: [file] });
  drafts.move('first', 'c');
  expect(drafts.get('c')).toEqual({ text: 'before the reload\ntyped since', contexts: [file] });
  expect(drafts.get('first').text).toBe('');
});

test.each([
  ['shown', true, ['in red'], ''],
  ['shown', false, [], 'in red'],
  ['other', true, [], 'in red']
])('a refused message goes back to its own chat: %s, with a prompt box: %s', (id, hasBox, inserted, draft) => {
  const session = createSession();
  const drafts = openTab()();
  const texts: string[] = [];
  session.onInsertText = text => texts.push(text);
  session.dispatch({ type: 'shown', chatId: 'shown' });
  putBackMessage(session, drafts, id, { text: 'in red', contexts: [file] }, hasBox);
  expect([texts, drafts.get(id).text]).toEqual([inserted, draft]);
});

test('a refused message is added after what was typed since', () => {
  const drafts = openTab()();
  drafts.set('c', { text: 'typed since', contexts: [] });
  putBackMessage(createSession(), drafts, 'c', { text: 'in red', contexts: [file] }, true);
  expect(drafts.get('c')).toEqual({ text: 'typed since\nin red', contexts: [file] });
});

/** Type in a new chat, show another chat, and start a third one. Return the drafts of the first and the third. */
function startAfterTyping(hasNotebook: boolean, isShown: boolean): string[] {
  const session = createSession();
  const drafts = openTab()();
  const { id } = session.chat;
  drafts.set(id, { text: 'not yet asked', contexts: [] });
  if (!isShown) {
    session.dispatch({ type: 'shown', chatId: 'other' });
  }
  startChat(session, drafts, chatId => hasNotebook && chatId === id);
  return [drafts.get(id).text, drafts.get(session.chat.id).text];
}

test('what was typed in a chat that nobody can find again goes to the next new chat', () => {
  expect(startAfterTyping(false, false)).toEqual(['', 'not yet asked']);
});

test('what was typed in the unused chat of another notebook stays there', () => {
  expect(startAfterTyping(true, false)).toEqual(['not yet asked', '']);
});

test('what was typed in the chat that is shown goes to the new chat of the same notebook', () => {
  expect(startAfterTyping(true, true)).toEqual(['', 'not yet asked']);
});

test('a draft that moves to its own chat stays as it is', () => {
  const drafts = openTab()();
  drafts.set('c', { text: 'half a thought', contexts: [file] });
  drafts.move('c', 'c');
  expect(drafts.get('c')).toEqual({ text: 'half a thought', contexts: [file] });
});
