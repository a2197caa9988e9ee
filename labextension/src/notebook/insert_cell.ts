/**
 * Inserts a cell for a question to the assistant into a notebook.
 *
 * This module knows no command and no server: the command is in `plugin.ts`.
 */

import { ISessionContextDialogs } from '@jupyterlab/apputils';
import { Cell } from '@jupyterlab/cells';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator } from '@jupyterlab/translation';

import { LOAD_LINE } from './load_extension';
import { isQuestion } from './question_cell';

/** Finds this line in the source of a cell. */
const LOAD_PATTERN = /^[ \t]*%load_ext[ \t]+jupyter_eca\b/m;
/** The source of the new cell: the user types the question into its second line. */
const QUESTION_SOURCE = '%%eca\n';

/**
 * Insert a cell with `%%eca` below the active cell and put the cursor into it. An empty active cell is used instead. If
 * no cell of the notebook loads the extension, insert and run one that does, directly before the first question.
 */
export async function insertQuestion(
  panel: NotebookPanel,
  dialogs: ISessionContextDialogs | undefined,
  translator: ITranslator
): Promise<void> {
  const notebook = panel.content;
  const isActiveEmpty = isEmptyCode(notebook.activeCell);
  // The index of the cell with the question.
  let place = notebook.activeCellIndex + Number(!isActiveEmpty);
  if (!notebook.widgets.some(cell => LOAD_PATTERN.test(cell.model.sharedModel.source))) {
    const loadingCells = insertCell(notebook, findFirstQuestion(notebook, place), LOAD_LINE);
    place++;
    // Not awaited: the user can type while the kernel is still starting.
    void NotebookActions.runCells(notebook, loadingCells, panel.sessionContext, dialogs, translator);
  }
  if (isActiveEmpty) {
    notebook.widgets[place]?.model.sharedModel.setSource(QUESTION_SOURCE);
  } else {
    insertCell(notebook, place, QUESTION_SOURCE);
  }
  await editCell(notebook, place);
}

/** Whether a cell is a code cell without a text, or with a question that is still empty. */
function isEmptyCode(cell: Cell | null): boolean {
  return cell?.model.type === 'code' && /^\s*(%%eca\s*)?$/.test(cell.model.sharedModel.source);
}

/**
 * Return the index of the first question above `place`, or `place` itself if there is none. If `%load_ext` is inserted
 * there, it runs before every question when the notebook is run from its beginning, and moves no other cells.
 */
function findFirstQuestion(notebook: Notebook, place: number): number {
  const index = notebook.widgets.findIndex(cell => isQuestion(cell.model.sharedModel.source));
  return index < 0 ? place : Math.min(index, place);
}

/**
 * Insert a code cell, and return it in a list, because `runCells` needs a list. The cell is inserted into the shared
 * model, so that the user can undo this, and other users see the cell.
 */
function insertCell(notebook: Notebook, index: number, source: string): Notebook['widgets'] {
  notebook.model?.sharedModel.insertCell(index, { cell_type: 'code', source, metadata: { trusted: true } });
  return notebook.widgets.slice(index, index + 1);
}

/** Make a cell active and put the cursor into its second line. */
async function editCell(notebook: Notebook, index: number): Promise<void> {
  notebook.activeCellIndex = index;
  notebook.deselectAll();
  const cell = notebook.activeCell;
  if (cell === null) {
    return;
  }
  await notebook.scrollToCell(cell);
  await cell.ready;
  notebook.mode = 'edit';
  notebook.activate();
  cell.editor?.setCursorPosition({ line: 1, column: 0 });
}
