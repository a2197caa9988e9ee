/**
 * Writes the text of Lab's status bar: the model or the outside agent, what the assistant is doing, and the cost. Pure.
 *
 * This module draws nothing: `status/plugin.ts` shows the text.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { Chat, State } from './state';
import { listWaitingChats } from './waiting_chats';
import { baseName, formatCount, formatCost } from '../render/format';

/** Return one line with the name of the model or agent that answers, the activity and the cost. */
export function describeStatus(state: State, chat: Chat, trans: TranslationBundle): string {
  const answerer = findAnswerer(state, chat);
  const assistantText = answerer === '' ? trans.__('Assistant') : trans.__('Assistant: %1', answerer);
  return [assistantText, describeActivity(state, chat, trans), describeCost(chat, trans)].filter(Boolean).join(' · ');
}

/** Return the name of the outside agent or of the model that answers; empty for none. */
function findAnswerer(state: State, chat: Chat): string {
  const { agent, model } = { ...state.selection, ...chat.selection };
  return state.outsideAgents.includes(agent) ? agent : baseName(model);
}

/**
 * Return the most important activity in words; empty when there is none. A chat that waits for the user, or for
 * somebody else who may approve a call, is more important than a running chat.
 */
function describeActivity(state: State, chat: Chat, trans: TranslationBundle): string {
  if (state.connection !== 'open') {
    return state.connection === 'connecting' ? '' : trans.__('not connected');
  }
  if (isWaiting(chat)) {
    return state.rights?.approves === false ? trans.__('waits for approval') : trans.__('waits for you');
  }
  if (listWaitingChats(state).length > 0) {
    return trans.__('waits for you');
  }
  if (chat.status !== 'idle' || state.list.some(({ status }) => status === 'running')) {
    return trans.__('running');
  }
  const hasOutsideAgent = state.outsideAgents.includes(chat.selection.agent ?? state.selection.agent);
  return state.configured && state.models.length === 0 && !hasOutsideAgent ? trans.__('no model') : '';
}

/**
 * Describe what a running chat does. What waits for the user comes first. The server's own text (`chat.progress`) is
 * not enough for that: it names no question and no call of a subagent, and a page that opens the chat later does not
 * get it.
 */
export function describeProgress(chat: Chat, trans: TranslationBundle): string {
  if (chat.status === 'stopping') {
    return trans.__('Stopping…');
  }
  if (chat.questions.length > 0) {
    return trans.__('Waiting for your answer');
  }
  return isWaiting(chat) ? trans.__('Waiting for approval') : chat.progress;
}

/** Whether something in a chat, or in one of its subagents, waits for a decision or an answer. */
export function isWaiting(chat: Chat): boolean {
  return (
    chat.questions.length > 0 ||
    [chat, ...Object.values(chat.subagents ?? {})].some(({ blocks }) =>
      blocks.some(block => block.kind === 'tool' && block.status === 'waiting')
    )
  );
}

/** Return the cost of the chat or, if the price is not known, its tokens. */
function describeCost({ usage }: Chat, trans: TranslationBundle): string {
  const cost = usage?.sessionCost;
  return cost !== undefined
    ? formatCost(cost)
    : usage !== null && usage.sessionTokens > 0
      ? trans.__('%1 tokens', formatCount(usage.sessionTokens))
      : '';
}
