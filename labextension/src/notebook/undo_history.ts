/**
 * Makes a change one step in both undo histories of Lab: the history of the notebook (Undo Cell Operation, the key Z)
 * and the history of each changed cell (Ctrl+Z). So the user can undo the change wherever the focus is.
 *
 * Yjs, the library that keeps the shared document, does not know that a step is in two histories. Without this module,
 * two errors would occur:
 *
 * - A step is undone and redone in one history. The other history can then undo only half of it, and text is lost.
 * - A step is undone in one history although the other has newer steps. Texts of different times are then mixed.
 *
 * Therefore three rules apply here:
 *
 * - A step that is undone in one history is removed from the other.
 * - When the user types in the cell after a step, the step stays only in the history of the cell.
 * - A cell that undoes its part of a larger step cannot redo that part.
 *
 * Example: the assistant edits cell 1. Ctrl+Z in cell 1 undoes the edit. Z in the notebook then undoes what came before
 * the edit.
 *
 * This module does not know what is changed: `live_cells.ts` makes the changes.
 */

import type { YNotebook } from '@jupyter/ydoc';

/** The undo history of a notebook or of a cell. */
type History = YNotebook['undoManager'];
/** One step of a history: the changes that one undo takes back. */
type Step = History['undoStack'][number];

/** The steps in histories of cells that are also in the history of their notebook. */
const sharedSteps = new WeakSet<Step>();

/** True while a step is being added to several histories. */
let isApplying = false;

/**
 * Make `change` one step in the history of the notebook and in `changedHistories`, the histories of the cells that it
 * changes. `onlySource`: the change is only in the source of one cell.
 */
export function applyAsOneStep(
  notebookHistory: History,
  changedHistories: readonly History[],
  onlySource: boolean,
  change: () => void
): void {
  // A cell without a history of its own has that of the notebook.
  const cellHistories = changedHistories.filter(history => history !== notebookHistory);
  const histories = [notebookHistory, ...cellHistories];
  // Yjs marks each change with an origin, and a history records only the changes of origins that it tracks. This origin
  // is a new one, because it is removed below, and the histories must continue to track their own origin.
  const origin = {};
  for (const history of histories) {
    history.addTrackedOrigin(origin);
    // Otherwise Yjs joins changes within half a second into one step.
    history.stopCapturing();
  }
  const before = histories.map(history => history.undoStack.at(-1));
  isApplying = true;
  try {
    notebookHistory.doc.transact(change, origin);
  } finally {
    isApplying = false;
    for (const history of histories) {
      history.removeTrackedOrigin(origin);
      history.stopCapturing();
    }
  }
  // The step that was added to each history; undefined where none was.
  const [step, ...cellSteps] = histories.map(({ undoStack }, index) =>
    undoStack.at(-1) === before[index] ? undefined : undoStack.at(-1)
  );
  linkSteps(notebookHistory, step, cellHistories, cellSteps, onlySource);
}

/**
 * Apply the rules above to the new step of the notebook, and to `cellSteps`, the steps of the same change in
 * `cellHistories`. The steps are in the order of the histories; undefined where a history has no new step.
 */
function linkSteps(
  notebookHistory: History,
  step: Step | undefined,
  cellHistories: readonly History[],
  cellSteps: readonly (Step | undefined)[],
  onlySource: boolean
): void {
  // The notebook undoes the step: no cell can undo its part again.
  callOnUndo(notebookHistory, step, () => {
    cellHistories.forEach((history, index) => {
      forgetStep(history, cellSteps[index]);
    });
  });
  // The notebook redoes the step: only the notebook can undo it from now on. The cells forget their older shared steps
  // too, because those must not be undone before this one.
  notebookHistory.on('stack-item-popped', ({ type }: { readonly type: 'undo' | 'redo' }) => {
    for (const history of type === 'redo' ? cellHistories : []) {
      history.undoStack = history.undoStack.filter(candidate => !sharedSteps.has(candidate));
    }
  });
  cellHistories.forEach((history, index) => {
    const cellStep = cellSteps[index];
    if (cellStep !== undefined) {
      sharedSteps.add(cellStep);
    }
    // The user types in the cell after the step: the step stays only in the history of the cell.
    history.on('stack-item-added', ({ type }: { readonly type: 'undo' | 'redo' }) => {
      if (onlySource && cellStep !== undefined && type === 'undo' && !isApplying) {
        sharedSteps.delete(cellStep);
        notebookHistory.undoStack = notebookHistory.undoStack.filter(candidate => candidate !== step);
      }
    });
    // The cell undoes its part of the step.
    callOnUndo(history, cellStep, () => {
      if (!onlySource) {
        // The part cannot be redone without the other parts.
        history.redoStack.pop();
      }
      forgetStep(notebookHistory, onlySource ? step : undefined);
    });
  });
}

/** Remove a step from a history. Nothing can be redone afterwards, because the text has changed since it was undone. */
function forgetStep(history: History, step: Step | undefined): void {
  history.undoStack = history.undoStack.filter(candidate => candidate !== step);
  history.clear(false, true);
}

/** Call a function once, when a step is undone in a history. */
function callOnUndo(history: History, step: Step | undefined, call: () => void): void {
  const handlePop = ({ stackItem }: { readonly stackItem: Step }): void => {
    if (stackItem === step) {
      history.off('stack-item-popped', handlePop);
      call();
    }
  };
  history.on('stack-item-popped', handlePop);
}
