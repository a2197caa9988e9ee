/**
 * Going back in a chat: roll back to before a message, ask a message again, or continue from it in a new chat.
 *
 * Knows no view: the buttons are in `view/transcript/UserMessage.tsx`.
 */

import { UserBlock } from './blocks';
import { ChatContext } from '../wire/protocol';
import { Code, RpcError } from '../wire/rpc';
import { Session } from './session';

/** What is rolled back: the messages alone, or the changes of tools as well. */
export type Extent = 'messages' | 'all';

/** Roll the chat back to before a message, and put its text back into the prompt box. */
export async function rollBack(session: Session, { contentId, text }: UserBlock, extent: Extent): Promise<void> {
  const include = extent === 'all' ? (['messages', 'tools'] as const) : (['messages'] as const);
  const { id: chatId } = session.chat;
  if (contentId !== undefined && (await session.ask('chat/rollback', { chatId, contentId, include })) !== undefined) {
    session.onDraft(text);
  }
}

/**
 * Roll back to before a message and ask it again. With a server that cannot roll back, the message is asked once more at
 * the end of the chat.
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

/** Open a new chat that has everything up to the end of the message's turn. */
export async function forkChat(session: Session, { contentId }: UserBlock): Promise<void> {
  if (contentId === undefined) {
    return;
  }
  await session.loadChats();
  const known = new Set(session.state.list.map(({ id }) => id));
  if ((await session.ask('chat/fork', { chatId: session.chat.id, contentId })) === undefined) {
    return;
  }
  await session.loadChats();
  const forked = session.state.list.find(({ id }) => !known.has(id));
  if (forked !== undefined) {
    await session.openChat(forked.id);
  }
}
