/**
 * Finds the answers of the assistant in the cells of a notebook, and adds the buttons to their code.
 *
 * It must not know how the buttons look: `code_blocks.ts` draws them.
 */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { addToolsToAnswer } from './code_blocks';
import { createCodePlace } from '../notebook/active_notebook';
import { isQuestion } from '../notebook/question_cell';
import { CodeTools } from '../render/code_tool_types';

/** After this pause without a change, the output is complete or waits. While it is redrawn, no buttons are added. */
const PAUSE_MS = 200;

/** Adds the buttons to the answers in one notebook. */
export class CellAnswers {
  /** The cells whose outputs are followed. */
  private readonly followed = new WeakSet<Cell>();
  /** The cells whose elements are observed, because they have an answer. */
  private readonly observed = new WeakSet<Cell>();

  constructor(
    private readonly panel: NotebookPanel,
    private readonly trans: TranslationBundle
  ) {}

  /** Begin to follow the cells of the notebook, also those of a model that replaces the present one. */
  follow(): void {
    const { content } = this.panel;
    const followModel = (): void => {
      content.model?.cells.changed.connect(() => {
        this.followNewCells();
      });
      this.followNewCells();
    };
    content.modelChanged.connect(followModel);
    followModel();
  }

  private followNewCells(): void {
    for (const cell of this.panel.content.widgets) {
      if (cell instanceof CodeCell && !this.followed.has(cell)) {
        this.followed.add(cell);
        const look = (): void => {
          this.observeAnswer(cell);
        };
        cell.model.outputs.changed.connect(look);
        void cell.ready.then(look, () => undefined);
      }
    }
  }

  /** If the cell has an answer, add the buttons, now and whenever its output is drawn again. */
  private observeAnswer(cell: CodeCell): void {
    const { outputs, sharedModel } = cell.model;
    if (this.observed.has(cell) || cell.isDisposed || outputs.length === 0 || !isQuestion(sharedModel.getSource())) {
      return;
    }
    this.observed.add(cell);
    let timer = 0;
    const addLater = (): void => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        this.addTools(cell);
      }, PAUSE_MS);
    };
    const observer = new MutationObserver(addLater);
    observer.observe(cell.outputArea.node, { childList: true, subtree: true });
    cell.disposed.connect(() => {
      observer.disconnect();
      window.clearTimeout(timer);
    });
    addLater();
  }

  private addTools(cell: CodeCell): void {
    addToolsToAnswer(cell.outputArea.node, this.createTools(cell), this.trans);
  }

  /** Return the functions of the buttons. The cell of the answer becomes the active cell first. */
  private createTools(cell: CodeCell): CodeTools {
    const { panel } = this;
    return {
      get place() {
        const index = panel.content.widgets.indexOf(cell);
        if (index < 0) {
          return undefined;
        }
        panel.content.activeCellIndex = index;
        return createCodePlace(panel);
      }
    };
  }
}
