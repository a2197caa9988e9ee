/**
 * Lab has two histories: the notebook's own, of what is done to the list of cells (Undo Cell Operation, the key Z), and
 * one in each cell, of what is typed there (Ctrl+Z). A step that changes sources is made one in both, so that it can be
 * undone from where the user is.
 *
 * Yjs knows nothing of a step in two histories: undone and done again in one, it can be undone in the other only by
 * half, and text is lost; undone in one below what the other has done since, texts of both times are mixed. So a step
 * that is undone in one is taken out of the other, and what comes after it in one history only makes it a step of that
 * history only. A cell that undoes its part of a larger step cannot do it again.
 */

import type { YNotebook } from '@jupyter/ydoc';

type History = YNotebook['undoManager'];
type Step = History['undoStack'][number];

/** Those in a cell's history that are in the notebook's too. */
const shared = new WeakSet<Step>();

/** While a step comes into several histories. */
let making = false;

/**
 * Makes `change` one step of `whole` and of each of `cells`. `alone`: there is no more in it than what is in the cell.
 */
export function applyAsOneStep(whole: History, cells: readonly History[], alone: boolean, change: () => void): void {
  const parts = cells.filter(part => part !== whole);
  const all = [whole, ...parts];
  // An origin that no history knows: the one of the notebook's own changes must go on being followed afterwards.
  const origin = {};
  for (const history of all) {
    history.addTrackedOrigin(origin);
    // Yjs takes what comes within half a second for one step.
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

/** What was undone there before was undone of a text that is another now. */
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
