/**
 * Inserts a cell for a question to the assistant into a notebook.
 *
 * Knows no command and no server: the command is in `plugin.ts`.
 */

import { ISessionContextDialogs } from '@jupyterlab/apputils';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator } from '@jupyterlab/translation';

const LOAD = '%load_ext jupyter_eca';
const LOADS = /^[ \t]*%load_ext[ \t]+jupyter_eca\b/m;
const QUESTION = '%%eca\n';

/** Below the active cell, ready to be typed into. The magic is loaded first where the notebook never does that. */
export async function insertQuestion(
  panel: NotebookPanel,
  dialogs: ISessionContextDialogs | undefined,
  translator: ITranslator
): Promise<void> {
  const notebook = panel.content;
  if (!notebook.widgets.some(cell => LOADS.test(cell.model.sharedModel.source))) {
    const loading = insertCell(notebook, findFirstCode(notebook), LOAD);
    // Not awaited: a kernel that is still starting must not keep anybody from typing.
    void NotebookActions.runCells(notebook, loading, panel.sessionContext, dialogs, translator);
  }
  const below = notebook.activeCellIndex + 1;
  insertCell(notebook, below, QUESTION);
  await editCell(notebook, below);
}

/** Where `%load_ext` is run before any question, also one that is later asked further up. */
function findFirstCode(notebook: Notebook): number {
  const index = notebook.widgets.findIndex(cell => cell.model.type === 'code');
  return index < 0 ? notebook.activeCellIndex + 1 : index;
}

/** In the shared model, so that it can be undone and others who have the notebook open see it. */
function insertCell(notebook: Notebook, index: number, source: string): Notebook['widgets'] {
  notebook.model?.sharedModel.insertCell(index, { cell_type: 'code', source, metadata: { trusted: true } });
  return notebook.widgets.slice(index, index + 1);
}

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
