/**
 * Marks the cells that the assistant changed, until the user runs or edits them.
 *
 * Knows no chat: `live_notebooks.ts` and `review/controller.ts` say which cells.
 */

import type { ISharedCell } from '@jupyter/ydoc';
import { Cell } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';

const MARK = 'eca-mod-changed';

export class ChangedMarks {
  /** Above 0 while changes and runs are those of the assistant. */
  private pauses = 0;
  private readonly followed = new WeakSet<ISharedCell>();

  constructor() {
    const handleRun = (_: unknown, { cell }: { readonly cell: Cell }): void => {
      this.removeUnlessPaused(cell);
    };
    NotebookActions.executionScheduled.connect(handleRun);
    // Cells of text are executed without being scheduled.
    NotebookActions.executed.connect((_, { cell }) => {
      if (cell.model.type !== 'code') {
        this.removeUnlessPaused(cell);
      }
    });
  }

  /**
   * Run `work`. Changes and runs that it makes before it returns do not remove marks, because they are not the user's.
   */
  pauseDuring<T>(work: () => T): T {
    this.pauses++;
    try {
      return work();
    } finally {
      this.pauses--;
    }
  }

  add(cell: Cell): void {
    cell.addClass(MARK);
    const { sharedModel } = cell.model;
    if (!this.followed.has(sharedModel)) {
      this.followed.add(sharedModel);
      sharedModel.changed.connect((_, { sourceChange }) => {
        if (sourceChange !== undefined) {
          this.removeUnlessPaused(cell);
        }
      });
    }
  }

  remove(cell: Cell): void {
    cell.removeClass(MARK);
  }

  private removeUnlessPaused(cell: Cell): void {
    if (this.pauses === 0) {
      this.remove(cell);
    }
  }
}
