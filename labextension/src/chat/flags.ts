/**
 * Sets and removes flags, which are marks at messages of a chat.
 *
 * This module knows no view: `view/transcript/Flag.tsx` shows the flags.
 */

import type { Session } from './session';

export interface Flags {
  readonly add: (contentId: string, text: string) => void;
  readonly remove: (contentId: string) => void;
}

export function createFlags(session: () => Session): Flags {
  return {
    add: (contentId, text) => void session().ask('chat/addFlag', { chatId: session().chat.id, contentId, text }),
    remove: contentId => void session().ask('chat/removeFlag', { chatId: session().chat.id, contentId })
  };
}
