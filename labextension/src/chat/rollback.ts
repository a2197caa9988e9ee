/**
 * Returns to an earlier message of a chat: removes the message and everything after it, sends the message again, or
 * continues from it in a new chat.
 *
 * This module knows no view: the buttons are in `view/transcript/UserMessage.tsx`.
 */

import { UserBlock } from './blocks';
import { ChatContext } from '../wire/protocol';
import { Code, RpcError } from '../wire/rpc';
import { Session } from './session';

/** What is rolled back. `messages`: only the messages. `all`: also what tools have changed in files and cells. */
export type Extent = 'messages' | 'all';

/** Remove a message and everything after it from the chat, and put the text of the message into the prompt box. */
export async function rollBack(
  session: Session,
  { contentId, text, contexts }: UserBlock,
  extent: Extent
): Promise<void> {
  const include = extent === 'all' ? (['messages', 'tools'] as const) : (['messages'] as const);
  const { id: chatId } = session.chat;
  if (
    contentId !== undefined &&
    (await session.requestOrShowError('chat/rollback', { chatId, contentId, include })) !== undefined
  ) {
    session.onInsertText(text, contexts);
  }
}

/**
 * Remove a message and everything after it, and send `message` in its place. If the server cannot roll back, the
 * message is sent at the end of the chat. Return whether the server accepted the message.
 */
export async function askAgain(
  session: Session,
  contentId: string | undefined,
  message: string,
  contexts: readonly ChatContext[] = []
): Promise<boolean> {
  if (contentId !== undefined) {
    try {
      await session.request('chat/rollback', { chatId: session.chat.id, contentId, include: ['messages'] });
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== Code.methodNotFound) {
        session.showError(error);
        return false;
      }
    }
  }
  return session.prompt(message, contexts);
}

/**
 * Copy the chat up to the end of the message's turn into a new chat, and open the new chat. The server does not return
 * the id of the new chat. So the list of chats is fetched before and after: the new chat is the one that was not in it.
 */
export async function forkChat(session: Session, { contentId }: UserBlock): Promise<void> {
  if (contentId === undefined) {
    return;
  }
  await session.loadChats();
  const earlierChatIds = new Set(session.state.list.map(({ id }) => id));
  if ((await session.requestOrShowError('chat/fork', { chatId: session.chat.id, contentId })) === undefined) {
    return;
  }
  await session.loadChats();
  const forked = session.state.list.find(({ id }) => !earlierChatIds.has(id));
  if (forked !== undefined) {
    await session.openChat(forked.id);
  }
}
