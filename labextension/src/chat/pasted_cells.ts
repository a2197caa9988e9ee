/**
 * Turns cells that are pasted or dropped into contexts of a prompt. Lab provides both as JSON. Pure.
 *
 * This module knows no notebook: a function `FindCell` returns the place of a cell. Images are in `images.ts`.
 */

import { ChatContext } from '../wire/protocol';

/** The MIME type that Lab gives cells that are dragged. */
export const CELLS_MIME_TYPE = 'application/vnd.jupyter.cells';

/** A cell of nbformat, as far as it is used here. */
export interface PastedCell {
  readonly id?: string;
  /** `code`, `markdown` or `raw`. */
  readonly cell_type: string;
  /** The source, or its lines with their line breaks. */
  readonly source: string | readonly string[];
}

/**
 * Returns the path of the notebook that has the cell with this id, and the number of the cell, counted from 1.
 * Undefined when no open notebook has the cell.
 */
export type FindCell = (id: string) => { readonly path: string; readonly number: number } | undefined;

/** Parse the JSON that Lab puts on the clipboard for cells. Return undefined for any other text. */
export function parseCells(text: string): readonly PastedCell[] | undefined {
  if (!text.startsWith('[{') || !text.includes('"cell_type"')) {
    return undefined;
  }
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.length > 0 && parsed.every(isCell) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value of unknown origin has the fields of a cell. */
export function isCell(value: unknown): value is PastedCell {
  return typeof value === 'object' && value !== null && 'cell_type' in value && 'source' in value;
}

/**
 * Return the context for a cell. If the cell is in an open notebook, the context names it, and the server adds its
 * outputs. Otherwise the context is the source as text.
 */
export function toCellContext(cell: PastedCell, find: FindCell): ChatContext {
  const source = typeof cell.source === 'string' ? cell.source : cell.source.join('');
  const place = cell.id === undefined ? undefined : find(cell.id);
  if (cell.id !== undefined && place !== undefined) {
    const label = `cell:${String(place.number)}`;
    return { type: 'cell', path: place.path, cell: cell.id, label, description: getFirstLine(source) };
  }
  return { type: 'text', label: `${cell.cell_type} cell: ${getFirstLine(source)}`, content: source };
}

/** Return the first line that is not blank; empty when there is none. */
function getFirstLine(source: string): string {
  return source.split('\n').find(line => line.trim() !== '') ?? '';
}
