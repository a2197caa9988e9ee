/**
 * Groups the list of chats by their notebooks, by their dates or by their states. Pure.
 *
 * This module knows no view: `view/ChatList.tsx` names the groups and shows them.
 */

import { waitsForUser } from '../chat/waiting_chats';
import { ChatSummary } from '../wire/protocol';

/** The property of the chats by which they are grouped. */
export type Grouping = 'notebook' | 'date' | 'state';

/** What a chat is doing. `waiting`: it waits for a decision, an answer or a sign-in of the user. */
export type ChatState = 'waiting' | 'running' | 'failed' | 'done';

/** How long ago a chat was used last. `week` and `month`: within the last 7 and the last 30 days. */
export type Age = 'today' | 'yesterday' | 'week' | 'month' | 'older';

/** A group of chats, with the key by which they were grouped. */
export interface ChatGroup {
  /** The path of a notebook, which is empty for the chats without one; an `Age`; a `ChatState`; or `PINNED`. */
  readonly key: string;
  readonly chats: readonly ChatSummary[];
}

/** The key of the group of the pinned chats. It cannot be a path. */
export const PINNED = '\0';

/** The order of the groups by state: the chats that need the user most come first. */
const STATES: readonly ChatState[] = ['waiting', 'running', 'failed', 'done'];
/** The order of the groups by date: the newest chats come first. */
const AGES: readonly Age[] = ['today', 'yesterday', 'week', 'month', 'older'];

/** Return what a chat is doing or, if it is idle, how its last turn ended. */
export function getChatState(summary: ChatSummary): ChatState {
  // In the status `login` the chat waits until the user has entered a key or has signed in.
  const { status, outcome } = summary;
  if (waitsForUser(summary)) {
    return 'waiting';
  }
  if (status !== 'idle') {
    return 'running';
  }
  return outcome === 'failed' ? 'failed' : 'done';
}

/** Return how long ago `time` was, in calendar days of the user. Both times are milliseconds since 1970. */
export function findAge(time: number, now: number): Age {
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  // `setDate` counts calendar days. Hours would be wrong: a day on which the clock is changed has 23 or 25 of them.
  const isSince = (days: number): boolean => {
    const day = new Date(midnight);
    day.setDate(day.getDate() - days);
    return time >= day.getTime();
  };
  return isSince(0) ? 'today' : isSince(1) ? 'yesterday' : isSince(7) ? 'week' : isSince(30) ? 'month' : 'older';
}

/**
 * Return the groups that are not empty. `chats` begins with the newest, and the chats of a group keep their order. The
 * first group has the `pinned` chats, whatever the grouping is.
 *
 * `now` is the time in milliseconds since 1970. `activeNotebook` is the path of the active notebook, whose group comes
 * first. Then come the other notebooks, in the order of their newest chats, and last the chats without a notebook.
 */
export function groupChats(
  chats: readonly ChatSummary[],
  grouping: Grouping,
  {
    now,
    activeNotebook,
    pinned
  }: { readonly now: number; readonly activeNotebook: string | undefined; readonly pinned: ReadonlySet<string> }
): readonly ChatGroup[] {
  const findKey = (chat: ChatSummary): string =>
    pinned.has(String(chat.id))
      ? PINNED
      : grouping === 'notebook'
        ? (chat.notebook ?? '')
        : grouping === 'date'
          ? findAge(chat.updatedAt, now)
          : getChatState(chat);
  const groups = new Map<string, ChatSummary[]>();
  for (const chat of chats) {
    const key = findKey(chat);
    groups.set(key, [...(groups.get(key) ?? []), chat]);
  }
  const keys = [...groups.keys()];
  const order =
    grouping === 'notebook'
      ? [...new Set([...keys.filter(key => key === activeNotebook), ...keys.filter(key => key !== ''), ''])]
      : grouping === 'date'
        ? AGES
        : STATES;
  return [PINNED, ...order.filter(key => key !== PINNED)].flatMap(key => {
    const chatsOfGroup = groups.get(key);
    return chatsOfGroup === undefined ? [] : [{ key, chats: chatsOfGroup }];
  });
}
