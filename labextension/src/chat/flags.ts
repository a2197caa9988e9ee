/**
 * Sets and removes flags. A flag is a mark with a short text that the user adds to a message of a chat.
 *
 * This module knows no view: `view/transcript/Flag.tsx` shows the flags.
 */

import type { Session } from './session';

/** The functions for the flags of the chat that is shown. `contentId` is the id of the message. */
export interface Flags {
  readonly add: (contentId: string, text: string) => void;
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
