/**
 * Lists the stops in a notebook, and finds the next and the previous one. A stop is a place to which the user goes with
 * the buttons *Next change* and *Previous change*. The stops are in the order of the cells. Pure.
 *
 * A note is one change at one cell, about which the user decides (`notes.ts`). The cell at which a note is shown is its
 * anchor. The owner of a note is the waiting tool call that would make the change, or the changes that were made. A
 * hunk is a group of neighbouring lines that an edit changes. This module knows no cell and no editor: `overview.ts`
 * goes to the stops.
 */

import type { Note } from './notes';

/**
 * The place of one change: a hunk of an edited cell or, for an insertion, a deletion or a move of a cell, the bar with
 * the buttons of the note.
 */
export interface Stop {
  readonly note: Note;
  /** The index of the cell in the notebook. */
  readonly cellIndex: number;
  /** The id of the hunk; undefined for a bar. */
  readonly hunkId: number | undefined;
}

/** A note that is shown in a cell, as `listStops` needs it. */
interface ShownNote {
  readonly note: Note;
  /** The index of the cell in the notebook. */
  readonly cellIndex: number;
  /** The hunks of an edit that the user has not decided; undefined for a note without hunks. */
  readonly hunks: readonly { readonly id: number; readonly from: number }[] | undefined;
}

/**
 * List the stops of a notebook from its top to its end: one for each hunk, and one for each note without hunks. At the
 * same cell, a note about a cell below the anchor comes last: a cell that would be inserted there, or was deleted
 * there.
 */
export function listStops(notes: readonly ShownNote[]): readonly Stop[] {
  return notes
    .toSorted(
      (left, right) =>
        left.cellIndex - right.cellIndex || Number(left.note.isBelowAnchor) - Number(right.note.isBelowAnchor)
    )
    .flatMap<Stop>(({ note, cellIndex, hunks }) =>
      hunks === undefined
        ? [{ note, cellIndex, hunkId: undefined }]
        : hunks.toSorted((left, right) => left.from - right.from).map(({ id }) => ({ note, cellIndex, hunkId: id }))
    );
}

/**
 * Return whether the user leaves the change of a stop out of a waiting call.
 *
 * The parts of a call can be left out, and are numbered in the whole call. If an edit has parts, its hunks are these
 * parts, and the id of a hunk is the number of its part. Without parts, an edit cannot be left out. Of the changes
 * without hunks, only a move can be a part.
 */
export function isStopLeftOut({ note: { owner }, hunkId }: Stop): boolean {
  if (owner.kind !== 'call') {
    return false;
  }
  const part = hunkId === undefined ? owner.movePart : owner.parts && hunkId;
  return part !== undefined && owner.leftOut.includes(part);
}

/** Return whether two stops are at the same change, even if its cell has moved. */
export function isSameStop(left: Stop, right: Stop): boolean {
  return left.note.key === right.note.key && left.hunkId === right.hunkId;
}

/** The place of the user in the notebook. */
export interface ReviewPosition {
  /** The stop that was shown last, and its index in the list at that time. */
  readonly lastShown?: { readonly stop: Stop; readonly index: number } | undefined;
  /** The index of the active cell. */
  readonly cellIndex: number;
}

/**
 * Return the index of the stop after (`direction` 1) or before (`direction` -1) the position. After the last stop comes
 * the first one. Undefined when there are no stops.
 *
 * As long as the user stays in the cell of the stop that was shown last, the position is this stop. When the user has
 * decided the change of this stop, the stop is removed from the list, and the next stop gets its index. If the user has
 * gone to another cell, the position is the beginning of that cell.
 */
export function findStop(
  stops: readonly Stop[],
  { lastShown, cellIndex }: ReviewPosition,
  direction: 1 | -1
): number | undefined {
  if (stops.length === 0) {
    return undefined;
  }
  const wrap = (index: number): number => (index + stops.length) % stops.length;
  const current = lastShown === undefined ? -1 : stops.findIndex(stop => isSameStop(stop, lastShown.stop));
  const isInCell = (stops[current] ?? lastShown?.stop)?.cellIndex === cellIndex;
  if (isInCell && current >= 0) {
    return wrap(current + direction);
  }
  const following = stops.findIndex(stop => stop.cellIndex >= cellIndex);
  const nextIndex = isInCell && lastShown !== undefined ? lastShown.index : following < 0 ? stops.length : following;
  return wrap(direction === 1 ? nextIndex : nextIndex - 1);
}
