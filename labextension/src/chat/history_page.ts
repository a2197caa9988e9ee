/**
 * Fetches the next older page of a chat when the reader asks for it.
 *
 * Knows no view. How a page is joined to the transcript is in `pages.ts`.
 */

import { PAGE } from './pages';
import type { Session } from './session';
import type { Chat } from './state';
import type { Transcript } from './transcript';

/** Chats whose next page is on its way: a second request for the same page is not sent. */
const loading = new WeakSet<Transcript>();

/** Fetch the page before what is shown of the chat, unless it is on its way already. */
export async function fetchEarlier(session: Session, chat: Chat): Promise<void> {
  const { id: chatId, before: at } = chat;
  if (at === undefined || loading.has(chat)) {
    return;
  }
  loading.add(chat);
  const page = await session.ask('chat/history', { chatId, before: at, limit: PAGE });
  loading.delete(chat);
  if (page !== undefined) {
    // When the server does not know the place any more, it has no older page either.
    const before = page.error === undefined ? page.meta?.beforeCursor : undefined;
    session.dispatch({ type: 'earlier', chatId, page: { at, contents: page.contents, before } });
  }
}
