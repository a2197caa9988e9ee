/**
 * Finds the answers of the assistant in the outputs of cells, and adds buttons to the code in them (copy, insert, run,
 * replace) and to the diagrams (draw). A cell has an answer when its source is a question, such as `%%eca Why is this
 * slow?`.
 *
 * This module does not know how the buttons look: `code_blocks.ts` adds them to the page.
 */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { addToolsToAnswer } from './code_blocks';
import { DetachedAnswers, isConnected } from './detached_answers';
import { createCodeTarget } from '../notebook/active_notebook';
import { isQuestion } from '../notebook/question_cell';
import { CodeTools } from '../render/code_tool_types';
import type { AssistantPanel } from '../panel/panel';
import { findWaitingCard } from './waiting_cards';
import { WaitingCells } from './waiting_cells';

/**
 * Buttons are added when the output has not changed for this time, in milliseconds. A streamed answer is drawn again
 * many times a second, and each time its buttons would be lost.
 */
const PAUSE_MS = 200;

/** Adds the buttons to the answers in one notebook. */
export class CellAnswers {
  /** The cells whose outputs are followed, to find out when one of them gets an answer. */
  private readonly followed = new WeakSet<Cell>();
  /** The cells that have an answer. Their HTML elements are observed. */
  private readonly observed = new WeakSet<Cell>();
  /** Shows the cells whose answers wait for the user. */
  private readonly waitingCells: WaitingCells;
  /** Shows the rest of answers that were running when the page was reloaded. */
  private readonly detachedAnswers: DetachedAnswers;

  /** `assistantPanel` resolves when something has loaded the panel of the assistant. */
  constructor(
    private readonly panel: NotebookPanel,
    private readonly trans: TranslationBundle,
    private readonly assistantPanel: Promise<AssistantPanel>
  ) {
    this.waitingCells = new WaitingCells(panel, trans);
    this.detachedAnswers = new DetachedAnswers(panel);
  }

  /** Begin to follow the cells of the notebook, also those of a notebook model that replaces the present one. */
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

  /** Begin to follow the cells that are not followed yet. */
  private followNewCells(): void {
    for (const cell of this.panel.content.widgets) {
      if (cell instanceof CodeCell && !this.followed.has(cell)) {
        this.followed.add(cell);
        const checkOutput = (): void => {
          this.observeAnswer(cell);
          this.waitingCells.update(cell);
          if (isQuestion(cell.model.sharedModel.getSource())) {
            this.detachedAnswers.remember(cell);
          }
        };
        cell.model.outputs.changed.connect(checkOutput);
        this.waitingCells.update(cell);
        if (findWaitingCard(cell.model.outputs) !== undefined && !isConnected(cell)) {
          void this.endOldCard(cell);
        }
        // Lab draws a cell only when it comes into view. The cell may be closed before that.
        void cell.ready.then(checkOutput, () => undefined);
      }
    }
  }

  /**
   * If the turn of a card that waits has ended while the page was away, the kernel sends nothing about it any more. Then
   * replace the card by a sentence that says where the answer is.
   */
  private async endOldCard(cell: CodeCell): Promise<void> {
    const { session, connecting } = await this.assistantPanel;
    await connecting;
    const card = cell.isDisposed ? undefined : findWaitingCard(cell.model.outputs);
    const chat = session.state.list.find(({ id }) => String(id) === card?.chat);
    if (card !== undefined && chat?.status === 'idle' && !isConnected(cell)) {
      const text = this.trans.__('The answer went on while this page was away. It is in the list of all chats.');
      const data = { 'text/plain': text };
      cell.model.outputs.set(card.index, { output_type: 'display_data', data, metadata: {} });
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

  /** Add the buttons to the present output of the cell. */
  private addTools(cell: CodeCell): void {
    const { markdownParser } = this.panel.content.rendermime;
    addToolsToAnswer(cell.outputArea.node, this.createTools(cell), markdownParser, this.trans);
  }

  /**
   * Return the object in which the buttons find the functions that they call (`target`). The functions insert code at
   * the active cell. So the cell of the answer is made active whenever a button reads `target`.
   */
  private createTools(cell: CodeCell): CodeTools {
    const { panel } = this;
    return {
      // Called at each click, because the cell may have been moved or removed since the buttons were added.
      get target() {
        const index = panel.content.widgets.indexOf(cell);
        if (index < 0) {
          return undefined;
        }
        panel.content.activeCellIndex = index;
        return createCodeTarget(panel);
      }
    };
  }
}
