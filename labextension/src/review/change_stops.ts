/**
 * Lists the places of the changes in a notebook, in the order of its cells, and finds the next and the previous one.
 * Pure.
 *
 * This module knows no cell and no editor: `overview.ts` goes to the places.
 */

import type { Note } from './notes';

/** The place of one change: the bar of a note or, for an edit, one of its hunks. */
export interface Step {
  readonly note: Note;
  /** The index of the cell in the notebook. */
  readonly cell: number;
  /** The id of the hunk; undefined for the bar. */
  readonly hunk: number | undefined;
}

/** A note that is shown, as far as the list of the steps needs it. */
interface PlacedNote {
  readonly note: Note;
  readonly cell: number;
  /** The hunks of an edit that are not decided; undefined for a note without hunks. */
  readonly hunks: readonly { readonly id: number; readonly from: number }[] | undefined;
}

/** List the steps of a notebook from its top to its end: one for each hunk, and one for each note without hunks. */
export function listSteps(notes: readonly PlacedNote[]): readonly Step[] {
  return notes
    .toSorted((left, right) => left.cell - right.cell || Number(left.note.below) - Number(right.note.below))
    .flatMap<Step>(({ note, cell, hunks }) =>
      hunks === undefined
        ? [{ note, cell, hunk: undefined }]
        : hunks.toSorted((left, right) => left.from - right.from).map(({ id }) => ({ note, cell, hunk: id }))
    );
}

/** Whether two steps are the same change, also when its cell has moved. */
export function isSameStep(left: Step, right: Step): boolean {
  return left.note.key === right.note.key && left.hunk === right.hunk;
}

/** Where the user is. */
export interface Position {
  /** The step that was shown last, and its index in the list at that time. */
  readonly last?: { readonly step: Step; readonly index: number } | undefined;
  /** The index of the active cell. */
  readonly cell: number;
}

/**
 * Return the index of the step after (`direction` 1) or before (`direction` -1) the position. After the last step comes
 * the first one. Undefined when there are no steps.
 *
 * The position is the last step, as long as the user stays in its cell. If that step was decided, the step after it has
 * moved up to its index. Otherwise the position is the beginning of the active cell.
 */
export function findStep(steps: readonly Step[], { last, cell }: Position, direction: 1 | -1): number | undefined {
  if (steps.length === 0) {
    return undefined;
  }
  const wrap = (index: number): number => (index + steps.length) % steps.length;
  const current = last === undefined ? -1 : steps.findIndex(step => isSameStep(step, last.step));
  const isInCell = (steps[current] ?? last?.step)?.cell === cell;
  if (isInCell && current >= 0) {
    return wrap(current + direction);
  }
  const following = steps.findIndex(step => step.cell >= cell);
  const next = isInCell && last !== undefined ? last.index : following < 0 ? steps.length : following;
  return wrap(direction === 1 ? next : next - 1);
}
