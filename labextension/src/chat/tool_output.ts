/**
 * Fetches the whole output of a tool call when the user asks for it. The card shows only the part that the model read.
 *
 * This module knows no view: the button is in `view/tools/ToolDetails.tsx`.
 */

import { Session } from './session';

/** The number of characters that one request fetches, so that no message becomes too large. */
const PART_LENGTH = 500_000;
/** The most characters of an output that are fetched: nobody reads more than that in a page. */
const MAX_LENGTH = 20_000_000;

/** Return the output of the call with this id. Return undefined after an error message was shown. */
export async function fetchWholeOutput(session: Session, id: string): Promise<string | undefined> {
  const chatId = session.chat.id;
  const parts: string[] = [];
  for (let offset = 0; offset < MAX_LENGTH;) {
    const part = await session.requestOrShowError('chat/toolOutput', { chatId, id, offset, limit: PART_LENGTH });
    if (part === undefined) {
      return undefined;
    }
    parts.push(part.text);
    // `end` is the offset after this part, and `total` the length of the whole output. An answer without any progress
    // would be requested again forever.
    if (part.end >= part.total || part.end <= offset) {
      break;
    }
    offset = part.end;
  }
  return parts.join('');
}
