/** Going back in a chat: to before a message, or on from it in another chat. */

import { UserBlock } from './blocks';
import { Session } from './session';

/** What is taken back with the messages. */
export type Extent = 'messages' | 'all';

/** To before the message, whose words come back to the prompt box. */
export async function goBack(session: Session, { contentId, text }: UserBlock, extent: Extent): Promise<void> {
  const include = extent === 'all' ? (['messages', 'tools'] as const) : (['messages'] as const);
  const { id: chatId } = session.chat;
  if (contentId !== undefined && (await session.ask('chat/rollback', { chatId, contentId, include })) !== undefined) {
    session.onDraft(text);
  }
}

/** Shows a new chat that has everything up to the end of this message's turn. */
export async function fork(session: Session, { contentId }: UserBlock): Promise<void> {
  if (contentId === undefined) {
    return;
  }
  await session.list();
  const known = new Set(session.state.list.map(({ id }) => id));
  if ((await session.ask('chat/fork', { chatId: session.chat.id, contentId })) === undefined) {
    return;
  }
  await session.list();
  const made = session.state.list.find(({ id }) => !known.has(id));
  if (made !== undefined) {
    await session.openChat(made.id);
  }
}
