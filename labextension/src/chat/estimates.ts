/**
 * Asks the server how many tokens a prompt would send and what it would cost, before the prompt is sent.
 *
 * This module knows no view: `view/composer/Estimate.tsx` shows the estimate.
 */

import { ChatContext, ChatEstimateResult } from '../wire/protocol';
import { Session } from './session';

/** The tokens and the cost of a prompt and, if the user has asked for it, the exact request as text. */
export type Estimate = ChatEstimateResult;

/**
 * Estimate what a prompt would send. When that fails, return undefined and show no error, because the user did not ask
 * for the estimate.
 */
export async function estimatePrompt(
  session: Session,
  message: string,
  contexts: readonly ChatContext[]
): Promise<Estimate | undefined> {
  try {
    // An image may have megabytes, and the server does not need them to estimate its tokens.
    const withoutImages = contexts.filter(({ type }) => type !== 'image');
    return await session.request('chat/estimate', { ...buildParams(session, message), contexts: withoutImages });
  } catch {
    return undefined;
  }
}

/**
 * Estimate a prompt and return with it the exact request that the model would receive. When that fails, show the error
 * and return undefined.
 */
export function estimateWithRequest(
  session: Session,
  message: string,
  contexts: readonly ChatContext[]
): Promise<Estimate | undefined> {
  return session.requestOrShowError('chat/estimate', { ...buildParams(session, message), contexts, request: true });
}

/** Return the parameters that an estimate has in common with the prompt itself. */
function buildParams(session: Session, message: string) {
  const { id: chatId, selection } = session.chat;
  const { model, agent, variant } = { ...session.state.selection, ...selection };
  return {
    chatId,
    message,
    ...(model !== '' && { model }),
    ...(agent !== '' && { agent }),
    ...(variant !== '' && { variant })
  };
}
