/**
 * Builds the text that is sent for an inline completion: the text of the cell or file and, in a notebook, the cells
 * above it. Pure.
 *
 * This module knows no editor and no server: `completion_provider.ts` reads the editor, and `completion_link.ts` asks
 * the server.
 */

import { Position } from '../wire/protocol';

/** A cell above the active cell. */
export interface CellAbove {
  /** Whether it is a code cell. */
  readonly isCode: boolean;
  readonly source: string;
}

/**
 * The most characters of the cells above that are sent. The server passes half as many on to the model (`BEFORE_CHARS`
 * in `engine/model/cursor_requests.py`), so the server's limit decides what the model reads, and this one only keeps
 * messages small. The cells right above matter most, so the text is cut at its beginning.
 */
const MAX_LENGTH_ABOVE = 8000;

/** The document and the cursor that are sent to the server. */
export interface CompletionDocument {
  /** The cells above, and the cell or file that is completed. */
  readonly docText: string;
  /** The cursor. Line and character count from 1, and an emoji counts as one character. */
  readonly position: Position;
}

/**
 * Build the document for the server: the cells above, and then `text`, the cell or file with the cursor. `offset` is
 * the cursor in `text`, and `commentSign` is the sign that begins a comment in the language. Offset and position count
 * an emoji as one character, as Python does, although it has two UTF-16 units.
 */
export function buildDocument(
  text: string,
  offset: number,
  above: readonly CellAbove[],
  commentSign: string
): CompletionDocument {
  const allCellsAbove = above.map(cell => `${commentOut(cell, commentSign)}\n\n`).join('');
  const textAbove = allCellsAbove.slice(-MAX_LENGTH_ABOVE);
  const lines = (textAbove + Array.from(text).slice(0, offset).join('')).split('\n');
  const lastLine = lines[lines.length - 1] ?? '';
  return { docText: textAbove + text, position: { line: lines.length, character: Array.from(lastLine).length + 1 } };
}

/** Return the source of a cell, with prose as comments: otherwise a model would continue with prose. */
function commentOut({ isCode, source }: CellAbove, commentSign: string): string {
  return isCode || commentSign === '' ? source : source.replace(/^/gm, `${commentSign} `);
}

/** Return the sign that begins a comment in a language; empty for prose and for an unknown language. */
export function findCommentSign(mimeType: string): string {
  // `text/x-ipythongfm` is not Python, but the Markdown of Lab's cells.
  if (/python(?!gfm)|julia|r-?src|x-sh|ruby|perl|yaml/.test(mimeType)) {
    return '#';
  }
  return /javascript|typescript|c\+\+|java|rust|go|scala|kotlin/.test(mimeType) ? '//' : '';
}
