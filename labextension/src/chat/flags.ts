/**
 * Sets and removes the marks of a chat: flags and ratings. A flag is a short text that the user adds to a message. A
 * rating says whether an answer was good. The server stores both with the chat, and no model reads them.
 *
 * This module knows no view: `Flag.tsx` and `RateAnswer.tsx` in `view/transcript/` show them.
 */

import { AnswerRating } from '../wire/protocol';
import type { Session } from './session';

/** The functions for the flags of the chat that is shown. `contentId` is the id of the message. */
export interface Flags {
  /** Adds a flag with this text to the message. */
  readonly add: (contentId: string, text: string) => void;
  /** Removes the flag of the message. */
  readonly remove: (contentId: string) => void;
}

/** Return the functions. They send their requests with the session that `session` returns. */
export function createFlags(session: () => Session): Flags {
  return {
    add: (contentId, text) =>
      void session().requestOrShowError('chat/addFlag', { chatId: session().chat.id, contentId, text }),
    remove: contentId => void session().requestOrShowError('chat/removeFlag', { chatId: session().chat.id, contentId })
  };
}

/**
 * Rates the answer after the message with this id in the chat that is shown. An undefined rating removes the rating.
 */
export type RateAnswer = (contentId: string, rating: AnswerRating | undefined) => void;

/** Return the function that rates answers. It sends its requests with the session that `session` returns. */
export function createRateAnswer(session: () => Session): RateAnswer {
  return (contentId, rating) =>
    void session().requestOrShowError('chat/rateAnswer', {
      chatId: session().chat.id,
      contentId,
      ...(rating !== undefined && { rating })
    });
}
