/**
 * Defines the plugin that adds buttons to an answer in a cell: to its code (copy, insert, run, replace) and its
 * diagrams (draw). It also shows the rest of an answer when the page was reloaded meanwhile.
 *
 * The buttons are only in the page, and not in the saved notebook. `cell_answers.ts` finds the answers. The plugin
 * loads that module with the first notebook, so that Lab starts faster.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { IPanelPlace, PanelPlace } from '../panel/place';

export const answersPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:answers',
  description: 'Adds buttons to answers in cells.',
  autoStart: true,
  requires: [INotebookTracker, IPanelPlace],
  optional: [ITranslator],
  activate
};

/** Add the buttons in all notebooks that are open, and in those that are opened later. */
function activate(
  _app: JupyterFrontEnd,
  tracker: INotebookTracker,
  place: PanelPlace,
  translator: ITranslator | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  /** Show the buttons in the answers of a notebook, as long as it is open. */
  const showButtons = async (panel: NotebookPanel): Promise<void> => {
    const { CellAnswers } = await import('./cell_answers');
    if (!panel.isDisposed) {
      new CellAnswers(panel, trans, place.loaded).follow();
    }
  };
  tracker.forEach(panel => void showButtons(panel));
  tracker.widgetAdded.connect((_, panel) => {
    void showButtons(panel);
  });
}
