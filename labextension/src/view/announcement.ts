/**
 * Writes what a screen reader says about a chat: one line when its status changes, and not each word of an answer.
 * Pure.
 *
 * This module draws nothing: `App.tsx` and `PendingDecisions.tsx` put the line into a live region, which is an element
 * whose changes a screen reader reads aloud.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { ToolBlock } from '../chat/blocks';
import { Chat, isOutage, Outage, State } from '../chat/state';
import { describeFailure } from './transcript/failure_text';

/** Return the line for the present state; empty when there is nothing to say. */
export function describeForScreenReader({ connection }: State, chat: Chat, trans: TranslationBundle): string {
  if (isOutage(connection)) {
    return describeOutage(connection, trans);
  }
  const question = chat.questions.at(-1);
  if (question !== undefined) {
    return trans.__('The assistant asks: %1', question.question);
  }
  const waiting = chat.blocks.findLast(
    (block): block is ToolBlock => block.kind === 'tool' && block.status === 'waiting'
  );
  if (waiting !== undefined) {
    return trans.__('Your approval is needed: %1', waiting.summary ?? waiting.name);
  }
  if (chat.status !== 'idle') {
    return trans.__('The assistant is working.');
  }
  if (chat.hasProposedPlan === true) {
    return trans.__('The plan is ready to be carried out.');
  }
  const last = chat.blocks.at(-1);
  if (last?.kind === 'failure') {
    return trans.__('The assistant could not answer: %1', describeFailure(last.failure, trans));
  }
  return chat.blocks.length > 0 ? trans.__('The assistant is done.') : '';
}

/** Return the line for a lost connection. */
function describeOutage(outage: Outage, trans: TranslationBundle): string {
  switch (outage) {
    case 'lost':
      return trans.__('The connection to the server is lost. Trying again.');
    case 'signed-out':
      return trans.__('You are signed out. Reload the page.');
    case 'stopped':
      return trans.__('The server is not running. Reload the page.');
  }
}
