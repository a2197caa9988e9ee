/**
 * Fetches the next older page of a chat when the user asks for it. A page is a part of the chat's history.
 *
 * This module knows no view. `prepend_page.ts` puts the page before the transcript.
 */

import { PAGE_SIZE } from './prepend_page';
import type { Session } from './session';
import type { Chat } from './state';
import type { Transcript } from './transcript';

/**
 * The chats whose next page was requested and has not arrived. This page is not requested again. A chat that changes
 * meanwhile becomes another object, so its page may be requested twice. That does no harm: the second answer is
 * ignored.
 */
const loading = new WeakSet<Transcript>();

/** Fetch the page that comes before what is shown of the chat, unless it was requested already. */
export async function fetchOlderPage(session: Session, chat: Chat): Promise<void> {
  // The next older page ends where the loaded history begins.
  const { id: chatId, startCursor: endCursor } = chat;
  if (endCursor === undefined || loading.has(chat)) {
    return;
  }
  loading.add(chat);
  const page = await session.requestOrShowError('chat/history', { chatId, before: endCursor, limit: PAGE_SIZE });
  loading.delete(chat);
  if (page !== undefined) {
    // When the server does not know the place any more, it has no older page either.
    const startCursor = page.error === undefined ? page.meta?.beforeCursor : undefined;
    session.dispatch({ type: 'pageFetched', chatId, page: { endCursor, contents: page.contents, startCursor } });
  }
}
