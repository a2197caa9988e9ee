/**
 * Finds out when a chat needs its user: an answer has ended, or something waits for a decision. Pure.
 *
 * This module shows nothing: `title_mark.ts` marks the title of the tab, and `notifier.ts` notifies.
 */

import type { State } from '../chat/state';
import { ChatState, getChatState } from '../chats/groups';

/** What a chat is doing, and its title, which may be empty. */
export interface ChatActivity {
  readonly state: ChatState;
  readonly title: string;
}

/** The activity of each chat, by the id of the chat. */
export type Activities = ReadonlyMap<string, ChatActivity>;

/** A chat that needs its user. `ended`: its answer is complete, or has failed. */
export interface Need {
  readonly chatId: string;
  readonly title: string;
  readonly reason: 'waiting' | 'ended';
}

/**
 * List the activities of all chats: those of the list, and those that this page shows, which may be missing in the
 * list. If the user may not approve calls, no chat waits for the user: a chat with a call that needs approval counts as
 * running.
 */
export function listActivities(state: State): Activities {
  const activities = new Map<string, ChatActivity>();
  const waiting = state.rights?.approves === false ? 'running' : 'waiting';
  for (const summary of state.list) {
    const chatState = getChatState(summary);
    activities.set(String(summary.id), {
      state: chatState === 'waiting' ? waiting : chatState,
      title: summary.title ?? ''
    });
  }
  for (const [id, chat] of Object.entries(state.chats)) {
    const isWaiting =
      chat.questions.length > 0 || chat.blocks.some(block => block.kind === 'tool' && block.status === 'waiting');
    const listedActivity = activities.get(id);
    if (isWaiting || chat.status !== 'idle' || listedActivity === undefined) {
      const title = listedActivity?.title ?? chat.title;
      activities.set(id, { state: isWaiting ? waiting : chat.status !== 'idle' ? 'running' : 'done', title });
    }
  }
  return activities;
}

/** List the chats that began to need their user between two moments. */
export function listNeeds(before: Activities, now: Activities): readonly Need[] {
  const needs: Need[] = [];
  for (const [chatId, { state, title }] of now) {
    const stateBefore = before.get(chatId)?.state;
    if (state === 'waiting' && stateBefore !== 'waiting') {
      needs.push({ chatId, title, reason: 'waiting' });
    } else if ((state === 'done' || state === 'failed') && (stateBefore === 'running' || stateBefore === 'waiting')) {
      needs.push({ chatId, title, reason: 'ended' });
    }
  }
  return needs;
}

/** The mark in the title of the tab. `ended`: an answer has ended since the user last saw the page. */
export type TabMark = 'waiting' | 'ended' | 'running' | 'none';

/** Return the most important mark. `hasUnseenAnswer`: an answer has ended since the user last saw the page. */
export function chooseMark(activities: Activities, hasUnseenAnswer: boolean): TabMark {
  const states = [...activities.values()].map(({ state }) => state);
  return states.includes('waiting')
    ? 'waiting'
    : hasUnseenAnswer
      ? 'ended'
      : states.includes('running')
        ? 'running'
        : 'none';
}
