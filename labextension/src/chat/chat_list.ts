/**
 * Renames and deletes chats in the list of chats.
 *
 * This module knows no view: the list itself is `view/ChatList.tsx`.
 */

import { ChatId } from '../wire/protocol';
import { Session } from './session';

/** Rename a chat, and load the list again to show the new title. */
export async function renameChat(session: Session, chatId: ChatId, title: string): Promise<void> {
  if ((await session.requestOrShowError('chat/update', { chatId, title })) !== undefined) {
    await session.loadChats();
  }
}

/** Delete a chat. Its removal is shown at once, before the notification of the server arrives. */
export async function deleteChat(session: Session, chatId: ChatId): Promise<void> {
  if ((await session.requestOrShowError('chat/delete', { chatId })) !== undefined) {
    session.handleNotification('chat/deleted', { chatId });
  }
}
