/**
 * Fetches the whole output of a tool call that was too long for the model, when a reader asks for it.
 *
 * Knows no view: the button is in `view/tools/ToolDetails.tsx`.
 */

import { Session } from './session';

/** Characters in one message. */
const PART = 500_000;
/** Characters of an output at most: nobody reads more than that in a page. */
const MOST = 20_000_000;

export async function fetchWholeOutput(session: Session, id: string): Promise<string | undefined> {
  const chatId = session.chat.id;
  const parts: string[] = [];
  for (let offset = 0; offset < MOST;) {
    const part = await session.ask('chat/toolOutput', { chatId, id, offset, limit: PART });
    if (part === undefined) {
      return undefined;
    }
    parts.push(part.text);
    if (part.end >= part.total || part.end <= offset) {
      break;
    }
    offset = part.end;
  }
  return parts.join('');
}
