/**
 * Renames and deletes chats in the list of chats, and undoes a deletion.
 *
 * This module knows no view: the list itself is `view/ChatList.tsx`, and `view/common/Messages.tsx` shows the notice
 * with which a deletion is undone.
 */

import { ChatId } from '../wire/protocol';
import type { Drafts } from './drafts';
import { Session } from './session';
import { isUnused } from './state';
import type { DeletedChat } from './types';

/** Rename a chat, and load the list again to show the new title. */
export async function renameChat(session: Session, chatId: ChatId, title: string): Promise<void> {
  if ((await session.requestOrShowError('chat/update', { chatId, title })) !== undefined) {
    await session.loadChats();
  }
}

/**
 * Delete a chat. It disappears at once, and a notice with this text lets the user undo that. The server keeps the chat
 * for a while, so it does not matter whether this page is closed meanwhile. If the server refuses, the chat is shown
 * again.
 */
export async function deleteChat(session: Session, drafts: Drafts, chatId: ChatId, notice: string): Promise<void> {
  const deleted: DeletedChat = { chatId, isShown: session.chat.id === chatId, draft: drafts.get(chatId) };
  if (deleted.isShown) {
    // Show a chat with a new id: a prompt in a chat with the old id would make the deletion final.
    session.startChat();
  }
  session.handleNotification('chat/deleted', { chatId });
  if ((await session.requestOrShowError('chat/delete', { chatId, undoable: true })) === undefined) {
    await bringBack(session, drafts, deleted);
  } else {
    session.showDeletion(notice, deleted);
  }
}

/** Undo the deletion of a chat. */
export async function restoreChat(session: Session, drafts: Drafts, deleted: DeletedChat): Promise<void> {
  if ((await session.requestOrShowError('chat/restore', { chatId: deleted.chatId })) !== undefined) {
    await bringBack(session, drafts, deleted);
  }
}

/** Show a chat again as it was before its deletion, with what was typed in it. */
async function bringBack(session: Session, drafts: Drafts, { chatId, isShown, draft }: DeletedChat): Promise<void> {
  drafts.set(chatId, draft);
  await session.loadChats();
  // The user may have begun to ask in another chat.
  if (isShown && isUnused(session.chat)) {
    await session.openChat(chatId);
  }
}
