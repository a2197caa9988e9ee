/**
 * Loads `live_notebooks.ts` and lends the notebooks of this page to the server as soon as a cell asks something.
 *
 * The panel need not be open for that. Knows no message: the link is in `lend_link.ts`.
 */

import { Cell } from '@jupyterlab/cells';
import { Notebook, NotebookActions } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';

import type { LabParts, LiveNotebooks } from './live_notebooks';

/** A cell with a question to the assistant, or one that loads the extension. */
const ASKS = /^\s*%%?eca\b|\bjupyter_eca\b/m;
/** The kernel in which every code cell is a question. */
const PROMPTS = 'eca';

export class PageNotebooks {
  private host: Promise<LiveNotebooks> | undefined;
  private isLent = false;

  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly lab: LabParts
  ) {
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      if (!this.isLent && (ASKS.test(cell.model.sharedModel.getSource()) || this.isPrompt(notebook, cell))) {
        void this.lend();
      }
    });
  }

  /** Load the notebooks. The panel and cells share them, so that each can remove the marks of the other. */
  load(): Promise<LiveNotebooks> {
    this.host ??= import('./live_notebooks').then(({ LiveNotebooks }) => new LiveNotebooks(this.lab));
    return this.host;
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

  private isPrompt(notebook: Notebook, cell: Cell): boolean {
    const panel = this.lab.tracker.find(one => one.content === notebook);
    return cell.model.type === 'code' && panel?.sessionContext.session?.kernel?.name === PROMPTS;
  }
}
