/**
 * Knows the chats that wait for the user although the cell that has asked was deleted. The panel says so in the card of
 * the call that waits.
 *
 * `answers/waiting_cells.ts` adds and removes the chats. This module knows no cell and no view.
 */

/** The ids of the chats. It is a new object whenever it changes. */
let chats: ReadonlySet<string> = new Set();
/** Called whenever the chats have changed. */
const subscribers = new Set<() => void>();

/** The chats whose asking cell was deleted, for the views of the panel. */
export const deletedQuestions = {
  /** Call `subscriber` whenever the chats have changed. The returned function ends that. */
  subscribe: (subscriber: () => void): (() => void) => {
    subscribers.add(subscriber);
    return () => subscribers.delete(subscriber);
  },
  /** Return the ids of the chats. */
  current: (): ReadonlySet<string> => chats
};

/** Note whether the cell that has asked in a chat is deleted. */
export function setQuestionDeleted(chat: string, isDeleted: boolean): void {
  if (chats.has(chat) !== isDeleted) {
    chats = new Set(isDeleted ? [...chats, chat] : [...chats].filter(other => other !== chat));
    subscribers.forEach(subscriber => {
      subscriber();
    });
  }
}
