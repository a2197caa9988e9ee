/**
 * Makes a change one step in both undo histories of Lab: that of the notebook (Undo Cell Operation, the key Z) and that of
 * each cell (Ctrl+Z). So the user can undo it from where they are.
 *
 * Yjs does not know that a step is in two histories. If a step is undone and redone in one history, the other can undo only
 * half of it, and text is lost. If a step is undone in one history below newer steps of the other, texts of different
 * times are mixed. Therefore a step that is undone in one history is removed from the other, and a step that is followed
 * by typing in its cell belongs to the history of that cell only. A cell that undoes its part of a larger step cannot redo
 * that part. Example: the assistant edits cell 1; Ctrl+Z in cell 1 undoes the edit, and Z in the notebook then undoes what
 * came before it.
 *
 * Knows no change: `live_cells.ts` makes it.
 */

import type { YNotebook } from '@jupyter/ydoc';

type History = YNotebook['undoManager'];
type Step = History['undoStack'][number];

/** Steps in the history of a cell that are in the notebook's history, too. */
const shared = new WeakSet<Step>();

/** True while a step is being added to several histories. */
let making = false;

/** Make `change` one step of `whole` and of each of `cells`. `alone`: the change is only in the source of one cell. */
export function applyAsOneStep(whole: History, cells: readonly History[], alone: boolean, change: () => void): void {
  const parts = cells.filter(part => part !== whole);
  const all = [whole, ...parts];
  // A new origin, because it is removed below: the histories must not stop tracking their own one.
  const origin = {};
  for (const history of all) {
    history.addTrackedOrigin(origin);
    // Otherwise Yjs joins changes within half a second into one step.
    history.stopCapturing();
  }
  const before = all.map(history => history.undoStack.at(-1));
  making = true;
  try {
    whole.doc.transact(change, origin);
  } finally {
    making = false;
    for (const history of all) {
      history.removeTrackedOrigin(origin);
      history.stopCapturing();
    }
  }
  const [step, ...partial] = all.map(({ undoStack }, n) =>
    undoStack.at(-1) === before[n] ? undefined : undoStack.at(-1)
  );
  linkSteps(whole, step, parts, partial, alone);
}

function linkSteps(
  whole: History,
  step: Step | undefined,
  parts: readonly History[],
  partial: readonly (Step | undefined)[],
  alone: boolean
): void {
  onUndo(whole, step, () => {
    parts.forEach((part, n) => {
      forgetStep(part, partial[n]);
    });
  });
  whole.on('stack-item-popped', ({ type }: { readonly type: 'undo' | 'redo' }) => {
    for (const part of type === 'redo' ? parts : []) {
      part.undoStack = part.undoStack.filter(one => !shared.has(one));
    }
  });
  parts.forEach((part, n) => {
    const mine = partial[n];
    if (mine !== undefined) {
      shared.add(mine);
    }
    part.on('stack-item-added', ({ type }: { readonly type: 'undo' | 'redo' }) => {
      if (alone && mine !== undefined && type === 'undo' && !making) {
        shared.delete(mine);
        whole.undoStack = whole.undoStack.filter(one => one !== step);
      }
    });
    onUndo(part, mine, () => {
      if (!alone) {
        part.redoStack.pop();
      }
      forgetStep(whole, alone ? step : undefined);
    });
  });
}

/** Remove a step, and everything that could be redone: it was undone from a text that has changed since. */
function forgetStep(history: History, step: Step | undefined): void {
  history.undoStack = history.undoStack.filter(one => one !== step);
  history.clear(false, true);
}

function onUndo(history: History, step: Step | undefined, call: () => void): void {
  const handlePop = ({ stackItem }: { readonly stackItem: Step }): void => {
    if (stackItem === step) {
      history.off('stack-item-popped', handlePop);
      call();
    }
  };
  history.on('stack-item-popped', handlePop);
}
