/**
 * Lets the server read, edit and run the notebooks of this page as soon as a cell asks the assistant something. The
 * panel need not be open for this.
 *
 * This module only decides when that is needed. `notebook_link.ts` opens the link to the server, and
 * `live_notebooks.ts` answers the requests of the server. Both are loaded when they are needed.
 */

import { Cell } from '@jupyterlab/cells';
import { Notebook, NotebookActions } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';

import type { LabParts, LiveNotebooks } from './live_notebooks';

/** Matches a cell that asks the assistant a question, or loads the extension. */
const QUESTION_PATTERN = /^\s*%%?eca\b|\bjupyter_eca\b/m;
/** The name of the kernel in which every code cell is a question. */
const PROMPT_KERNEL = 'eca';

/** Watches the cells that are run, and opens the link when one of them asks the assistant. */
export class PageNotebooks {
  /** The open notebooks of the page; undefined until they are needed. */
  private notebooks: Promise<LiveNotebooks> | undefined;
  /** Whether the link is open, or is being opened. */
  private isConnected = false;

  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly lab: LabParts
  ) {
    // Lab reports every cell that the user runs.
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      if (
        !this.isConnected &&
        (QUESTION_PATTERN.test(cell.model.sharedModel.getSource()) || this.isPromptCell(notebook, cell))
      ) {
        void this.connect();
      }
    });
  }

  /**
   * Return the notebooks. The panel and this link share one object, so that each can remove marks that the other set.
   */
  load(): Promise<LiveNotebooks> {
    this.notebooks ??= import('./live_notebooks').then(({ LiveNotebooks }) => new LiveNotebooks(this.lab));
    return this.notebooks;
  }

  /** Open the link. When it has closed, the next cell that asks opens it again. */
  private async connect(): Promise<void> {
    this.isConnected = true;
    const handleClose = (): void => {
      this.isConnected = false;
    };
    try {
      const [{ connectNotebooks }, notebooks] = await Promise.all([import('./notebook_link'), this.load()]);
      await connectNotebooks(this.settings, notebooks, handleClose);
    } catch (error) {
      handleClose();
      console.warn('The assistant does not see the notebooks of this page: %s', error);
    }
  }

  /** Whether the cell runs in the kernel whose code cells are questions. */
  private isPromptCell(notebook: Notebook, cell: Cell): boolean {
    const panel = this.lab.tracker.find(({ content }) => content === notebook);
    return cell.model.type === 'code' && panel?.sessionContext.session?.kernel?.name === PROMPT_KERNEL;
  }
}
