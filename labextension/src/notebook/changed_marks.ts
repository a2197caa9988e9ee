/** Which cells the assistant changed: a quiet mark on each, until the user has run or edited it. */

import type { ISharedCell } from '@jupyter/ydoc';
import { Cell } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';

const MARK = 'eca-mod-changed';

export class Marks {
  /** Above 0 while what happens is the assistant's doing. */
  private ours = 0;
  private readonly followed = new WeakSet<ISharedCell>();

  constructor() {
    const ran = (_: unknown, { cell }: { readonly cell: Cell }): void => {
      this.seen(cell);
    };
    NotebookActions.executionScheduled.connect(ran);
    // Text has no schedule.
    NotebookActions.executed.connect((_, { cell }) => {
      if (cell.model.type !== 'code') {
        this.seen(cell);
      }
    });
  }

  /** Changes and runs that `work` makes before it returns are not the user's. */
  except<T>(work: () => T): T {
    this.ours++;
    try {
      return work();
    } finally {
      this.ours--;
    }
  }

  put(cell: Cell): void {
    cell.addClass(MARK);
    const { sharedModel } = cell.model;
    if (!this.followed.has(sharedModel)) {
      this.followed.add(sharedModel);
      sharedModel.changed.connect((_, { sourceChange }) => {
        if (sourceChange !== undefined) {
          this.seen(cell);
        }
      });
    }
  }

  remove(cell: Cell): void {
    cell.removeClass(MARK);
  }

  private seen(cell: Cell): void {
    if (this.ours === 0) {
      this.remove(cell);
    }
  }
}
