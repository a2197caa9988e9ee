/**
 * Lists, keeps and undoes the changes that the assistant made in files and cells.
 *
 * This module only sends the requests. The server keeps and undoes the changes. This module knows no view. The type
 * `Change` is in `types.ts`.
 */

import { ChatId } from '../wire/protocol';
import { Session } from './session';
import type { Change } from './types';

/**
 * Fetch the changes of a chat that are neither kept nor undone, and put them into the state.
 *
 * A settled change needs no decision, for example because it was approved before it was made. It can still be undone,
 * but only the settled changes of the last turn are listed. If the server does not know the chat or this method, the
 * list is empty.
 */
export async function loadChanges(session: Session, chatId: ChatId): Promise<void> {
  let changes: readonly Change[] = [];
  try {
    // `each`: one list for every turn, not one list of what all turns have changed together.
    ({ changes } = await session.request('chat/changes', { chatId, extent: 'each' }));
  } catch {
    // The user did not start this request, so its failure is not shown.
  }
  const last = changes.at(-1)?.turn;
  const listed = changes.filter(({ settled, turn }) => settled !== true || turn === last);
  session.dispatch({ type: 'changesFetched', chatId, changes: listed });
}

/** Keep changes: they leave the list, and stay as they are. */
export async function keepChanges(
  session: Session,
  changes: readonly Change[],
  chatId: ChatId = session.chat.id
): Promise<void> {
  await session.requestOrShowError('chat/keep', { chatId, changes: changes.map(({ id }) => id) });
  await loadChanges(session, chatId);
}

/**
 * Undo changes. For each one that the server cannot undo, a warning says why. `session.onFilesRemoved` is called with
 * the files that are gone now, because the assistant had made them.
 */
export async function undoChanges(
  session: Session,
  changes: readonly Change[],
  chatId: ChatId = session.chat.id
): Promise<void> {
  const result = await session.requestOrShowError('chat/revert', { chatId, changes: changes.map(({ id }) => id) });
  // The server names the changes that it left as they are: `shown` is the file or cell as the user knows it.
  for (const { shown, why } of result?.left ?? []) {
    session.showMessage('warning', shown === '' ? why : `${shown}: ${why}`);
  }
  const revertedIds = new Set(result?.reverted.map(({ id }) => id));
  const removed = changes.filter(({ id, type, kind }) => revertedIds.has(id) && type === 'file' && kind === 'created');
  if (removed.length > 0) {
    session.onFilesRemoved(removed);
  }
  await loadChanges(session, chatId);
}
