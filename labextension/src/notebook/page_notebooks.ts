/**
 * Lends the notebooks of this page to the server as soon as a cell asks the assistant something. To lend means: the
 * server may read, edit and run them. The panel need not be open for that.
 *
 * This module knows no message: the link is in `lend_link.ts`, the notebooks are in `live_notebooks.ts`, which is
 * loaded when it is needed.
 */

import { Cell } from '@jupyterlab/cells';
import { Notebook, NotebookActions } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';

import type { LabParts, LiveNotebooks } from './live_notebooks';

/** Matches a cell that asks the assistant a question, or loads the extension. */
const QUESTION = /^\s*%%?eca\b|\bjupyter_eca\b/m;
/** The name of the kernel in which every code cell is a question. */
const PROMPT_KERNEL = 'eca';

/** Watches the cells that are run, and lends the notebooks when one of them asks the assistant. */
export class PageNotebooks {
  /** Undefined until the notebooks are needed. */
  private notebooks: Promise<LiveNotebooks> | undefined;
  /** Whether the link over which the notebooks are lent is open, or is being opened. */
  private isLent = false;

  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly lab: LabParts
  ) {
    // Lab reports every cell that the user runs.
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      if (!this.isLent && (QUESTION.test(cell.model.sharedModel.getSource()) || this.isPrompt(notebook, cell))) {
        void this.lend();
      }
    });
  }

  /** Return the notebooks. The panel and cells share one object, so that each removes the marks that the other set. */
  load(): Promise<LiveNotebooks> {
    this.notebooks ??= import('./live_notebooks').then(({ LiveNotebooks }) => new LiveNotebooks(this.lab));
    return this.notebooks;
  }

  /** Lend the notebooks until the link closes. The next cell that asks lends them again. */
  private async lend(): Promise<void> {
    this.isLent = true;
    const handleClose = (): void => {
      this.isLent = false;
    };
    try {
      const [{ lendNotebooks }, notebooks] = await Promise.all([import('./lend_link'), this.load()]);
      await lendNotebooks(this.settings, notebooks, handleClose);
    } catch (error) {
      handleClose();
      console.warn('The assistant does not see the notebooks of this page: %s', error);
    }
  }

  /** Whether the cell runs in the kernel whose code cells are questions. */
  private isPrompt(notebook: Notebook, cell: Cell): boolean {
    const panel = this.lab.tracker.find(({ content }) => content === notebook);
    return cell.model.type === 'code' && panel?.sessionContext.session?.kernel?.name === PROMPT_KERNEL;
  }
}
