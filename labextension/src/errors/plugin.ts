/**
 * Defines the plugin that shows the buttons *Fix* and *Explain* below an error in a cell, and adds both as commands.
 * Below a question that the assistant could not answer, the plugin shows other buttons that help, such as *Try again*.
 *
 * The commands ask a question in the panel, through the panel's own command. `error_bars.ts` finds the cells
 * with errors. It is loaded with the first notebook.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { Command } from './commands';

/** The command of `panel/plugin.ts` that asks the question in its argument `message`. */
const OPEN_COMMAND = 'eca:open-panel';

export const errorsPlugin: JupyterFrontEndPlugin<void> = {
  // Users can switch a plugin of Lab off by its id. So this id stays, although the folder has another name.
  id: 'jupyter-eca:helping',
  description: 'Offers help with an error in a notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette],
  activate
};

/** Add the commands, and show the bars with buttons in all notebooks. */
function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  translator: ITranslator | null,
  palette: ICommandPalette | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  const { commands } = app;
  /** Add a command that asks a question about the active cell. `createQuestion` gets the cell's number, from 1. */
  const addCommand = (
    command: string,
    label: string,
    caption: string,
    createQuestion: (cellNumber: number) => string
  ): void => {
    commands.addCommand(command, {
      label,
      caption,
      describedBy: { args: { type: 'object', properties: {} } },
      isEnabled: () => tracker.activeCell !== null,
      execute: async () => {
        const number = (tracker.currentWidget?.content.activeCellIndex ?? -1) + 1;
        if (number > 0) {
          await commands.execute(OPEN_COMMAND, { message: createQuestion(number) });
        }
      }
    });
    palette?.addItem({ command, category: trans.__('Assistant') });
  };
  addCommand(Command.fix, trans.__('Fix this Cell'), trans.__('Ask the assistant to fix the active cell'), cell =>
    trans.__('Fix what is wrong in cell %1.', cell)
  );
  addCommand(
    Command.explain,
    trans.__('Explain this Cell'),
    trans.__('Ask the assistant to explain the active cell'),
    cell => trans.__('Explain what cell %1 does, and its error if it has one. Change nothing.', cell)
  );
  tracker.activeCellChanged.connect(() => {
    Object.values(Command).forEach(command => {
      commands.notifyCommandChanged(command);
    });
  });
  /** Show the bars below the errors of a notebook, as long as it is open. */
  const showErrorBars = async (panel: NotebookPanel): Promise<void> => {
    const { ErrorBars } = await import('./error_bars');
    if (!panel.isDisposed) {
      new ErrorBars(panel, trans, (command, args) => void commands.execute(command, args)).follow();
    }
  };
  tracker.forEach(panel => void showErrorBars(panel));
  tracker.widgetAdded.connect((_, panel) => {
    void showErrorBars(panel);
  });
}
