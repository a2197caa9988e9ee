/**
 * Rates answers. A rating stays in the chat on the server, and no model reads it.
 *
 * This module knows no view: `view/transcript/RateAnswer.tsx` shows the ratings.
 */

import { AnswerRating } from '../wire/protocol';
import type { Session } from './session';

/**
 * Rates the answer after the message with this id in the chat that is shown. An undefined rating removes the rating.
 */
export type RateAnswer = (contentId: string, rating: AnswerRating | undefined) => void;

/** Return the function. It sends its requests with the session that `session` returns. */
export function createRateAnswer(session: () => Session): RateAnswer {
  return (contentId, rating) =>
    void session().requestOrShowError('chat/rateAnswer', {
      chatId: session().chat.id,
      contentId,
      ...(rating !== undefined && { rating })
    });
}
