/**
 * Marks the cells that the assistant changed with a coloured line at their edge. The mark is removed when the user runs
 * or edits the cell.
 *
 * This module knows no chat: `live_notebooks.ts` and `review/controller.ts` decide which cells have marks.
 */

import type { ISharedCell } from '@jupyter/ydoc';
import { Cell } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';

/** The CSS class of a marked cell. */
const MARK = 'eca-mod-changed';

/** The marks in all open notebooks. */
export class ChangedMarks {
  /** The number of running calls of `pauseDuring`. While it is not 0, the assistant makes the changes and runs. */
  private pauseCount = 0;
  /** The cells whose changes are observed. */
  private readonly observed = new WeakSet<ISharedCell>();

  constructor() {
    const handleRun = (_: unknown, { cell }: { readonly cell: Cell }): void => {
      this.removeUnlessPaused(cell);
    };
    NotebookActions.executionScheduled.connect(handleRun);
    // Lab does not schedule Markdown cells, so `executionScheduled` does not report them.
    NotebookActions.executed.connect((_, { cell }) => {
      if (cell.model.type !== 'code') {
        this.removeUnlessPaused(cell);
      }
    });
  }

  /**
   * Run `work`. The changes and runs that it makes before it returns do not remove marks, because the user did not make
   * them.
   */
  pauseDuring<T>(work: () => T): T {
    this.pauseCount++;
    try {
      return work();
    } finally {
      this.pauseCount--;
    }
  }

  /** Mark a cell until the user runs or edits it. */
  add(cell: Cell): void {
    cell.addClass(MARK);
    const { sharedModel } = cell.model;
    if (!this.observed.has(sharedModel)) {
      this.observed.add(sharedModel);
      sharedModel.changed.connect((_, { sourceChange }) => {
        if (sourceChange !== undefined) {
          this.removeUnlessPaused(cell);
        }
      });
    }
  }

  /** Remove the mark of a cell. */
  remove(cell: Cell): void {
    cell.removeClass(MARK);
  }

  /** Remove the mark of a cell that was run or edited, unless the assistant did that. */
  private removeUnlessPaused(cell: Cell): void {
    if (this.pauseCount === 0) {
      this.remove(cell);
    }
  }
}
