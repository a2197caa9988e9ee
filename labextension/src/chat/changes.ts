/** What the assistant changed in files and cells: asked of the server, accepted or rejected there. */

import { ChatChangesResult, ChatId } from '../wire/protocol';
import { Session } from './session';

export type Change = ChatChangesResult['changes'][number];

/** All that stands of a chat. One that the server does not know, or a server without this, has none. */
export async function look(session: Session, chatId: ChatId): Promise<void> {
  let changes: readonly Change[] = [];
  try {
    ({ changes } = await session.request('chat/changes', { chatId, extent: 'each' }));
  } catch {
    // Nobody asked for it by hand: there is nothing to say about it.
  }
  session.act({ type: 'reviewed', chatId, changes });
}

export async function accept(
  session: Session,
  changes: readonly Change[],
  chatId: ChatId = session.chat.id
): Promise<void> {
  await session.ask('chat/keep', { chatId, changes: changes.map(({ id }) => id) });
  await look(session, chatId);
}

/** What cannot be taken back is said, and why. */
export async function reject(
  session: Session,
  changes: readonly Change[],
  chatId: ChatId = session.chat.id
): Promise<void> {
  const done = await session.ask('chat/revert', { chatId, changes: changes.map(({ id }) => id) });
  for (const { shown, why } of done?.left ?? []) {
    session.say('warning', shown === '' ? why : `${shown}: ${why}`);
  }
  await look(session, chatId);
}
