/**
 * What an inline completion is asked about: the text at the cursor and, in a notebook, the cells above it. Pure.
 *
 * Knows no editor and no server: `completion_provider.ts` reads the one and asks the other.
 */

import { Position } from '../wire/protocol';

/** A cell above the cursor, as far as a completion reads it. */
export interface CellAbove {
  readonly code: boolean;
  readonly source: string;
}

/**
 * Characters of the cells above that are sent: twice what the server passes on to the model. The nearest count most.
 */
const LONGEST = 8000;

/**
 * Build the document for the server. `offset` and the position count characters, as Python does, the position from 1.
 */
export function buildDocument(
  text: string,
  offset: number,
  above: readonly CellAbove[],
  comment: string
): { readonly docText: string; readonly position: Position } {
  const before = above.map(cell => `${commentOut(cell, comment)}\n\n`).join('');
  const whole = before.slice(-LONGEST);
  const lines = (whole + Array.from(text).slice(0, offset).join('')).split('\n');
  const last = lines[lines.length - 1] ?? '';
  return { docText: whole + text, position: { line: lines.length, character: Array.from(last).length + 1 } };
}

/** Text between code becomes comments; otherwise a model would continue with text. */
function commentOut({ code, source }: CellAbove, comment: string): string {
  return code || comment === '' ? source : source.replace(/^/gm, `${comment} `);
}

/** Return what begins a comment in a language; empty for an unknown language and for text. */
export function commentOf(mimeType: string): string {
  if (/python(?!gfm)|julia|r-?src|x-sh|ruby|perl|yaml/.test(mimeType)) {
    return '#';
  }
  return /javascript|typescript|c\+\+|java|rust|go|scala|kotlin/.test(mimeType) ? '//' : '';
}
