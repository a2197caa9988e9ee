/**
 * Asks the server what a prompt would send and cost, before it is sent.
 *
 * Knows no view: `view/composer/Estimate.tsx` shows the estimate.
 */

import { ChatContext, ChatEstimateResult } from '../wire/protocol';
import { Session } from './session';

export type Estimate = ChatEstimateResult;

/** About. A server without this, or one that cannot tell, says nothing: nobody asked for it by hand. */
export async function estimatePrompt(
  session: Session,
  message: string,
  contexts: readonly ChatContext[]
): Promise<Estimate | undefined> {
  try {
    // An image may be of megabytes, and its tokens are not told from them.
    const light = contexts.filter(({ type }) => type !== 'image');
    return await session.request('chat/estimate', { ...buildParams(session, message), contexts: light });
  } catch {
    return undefined;
  }
}

/** Word for word. */
export function estimateWithRequest(
  session: Session,
  message: string,
  contexts: readonly ChatContext[]
): Promise<Estimate | undefined> {
  return session.ask('chat/estimate', { ...buildParams(session, message), contexts, request: true });
}

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
