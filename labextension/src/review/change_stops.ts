/**
 * Lists the stops in a notebook: the places to which the user goes with the buttons "next change" and "previous
 * change", in the order of the cells. Finds the next and the previous stop. Pure.
 *
 * This module knows no cell and no editor: `overview.ts` goes to the stops.
 */

import type { Note } from './notes';

/** The place of one change: a hunk of an edited cell, or the bar of a note about another change. */
export interface Stop {
  readonly note: Note;
  /** The index of the cell in the notebook. */
  readonly cell: number;
  /** The id of the hunk; undefined for a bar. */
  readonly hunk: number | undefined;
}

/** What the list of stops needs of a note that is shown. */
interface PlacedNote {
  readonly note: Note;
  readonly cell: number;
  /** The hunks of an edit that the user has not decided; undefined for a note without hunks. */
  readonly hunks: readonly { readonly id: number; readonly from: number }[] | undefined;
}

/** List the stops of a notebook from its top to its end: one for each hunk, and one for each note without hunks. */
export function listStops(notes: readonly PlacedNote[]): readonly Stop[] {
  return notes
    .toSorted((left, right) => left.cell - right.cell || Number(left.note.below) - Number(right.note.below))
    .flatMap<Stop>(({ note, cell, hunks }) =>
      hunks === undefined
        ? [{ note, cell, hunk: undefined }]
        : hunks.toSorted((left, right) => left.from - right.from).map(({ id }) => ({ note, cell, hunk: id }))
    );
}

/** Return whether two stops are at the same change, even if its cell has moved. */
export function isSameStop(left: Stop, right: Stop): boolean {
  return left.note.key === right.note.key && left.hunk === right.hunk;
}

/** Where the user is. */
export interface Position {
  /** The stop that was shown last, and its index in the list at that time. */
  readonly last?: { readonly stop: Stop; readonly index: number } | undefined;
  /** The index of the active cell. */
  readonly cell: number;
}

/**
 * Return the index of the stop after (`direction` 1) or before (`direction` -1) the position. After the last stop comes
 * the first one. Undefined when there are no stops.
 *
 * As long as the user stays in the cell of the stop that was shown last, the position is this stop. When the user has
 * decided its change, it is gone, and the next stop has its index. If the user has gone to another cell, the position
 * is the beginning of that cell.
 */
export function findStop(stops: readonly Stop[], { last, cell }: Position, direction: 1 | -1): number | undefined {
  if (stops.length === 0) {
    return undefined;
  }
  const wrap = (index: number): number => (index + stops.length) % stops.length;
  const current = last === undefined ? -1 : stops.findIndex(stop => isSameStop(stop, last.stop));
  const isInCell = (stops[current] ?? last?.stop)?.cell === cell;
  if (isInCell && current >= 0) {
    return wrap(current + direction);
  }
  const following = stops.findIndex(stop => stop.cell >= cell);
  const next = isInCell && last !== undefined ? last.index : following < 0 ? stops.length : following;
  return wrap(direction === 1 ? next : next - 1);
}
