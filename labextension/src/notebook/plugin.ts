/**
 * Defines a plugin of Lab with two commands: ask the assistant in a new cell, and stop the assistant.
 *
 * This module decides where the commands are shown and when they can run. What they do is in `insert_cell.ts` and
 * `stop.ts`.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, ISessionContextDialogs } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { newQuestionIcon } from '../view/common/assistant_icon';

/** Menus, the toolbar and shortcuts in schema/plugin.json use these ids. */
const Command = { ask: 'eca:ask', stop: 'eca:stop' } as const;

export const notebookPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:plugin',
  description: 'Asks the assistant in a notebook, and stops it.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette, ISessionContextDialogs],
  activate
};

/** Add both commands to Lab. */
function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  translator: ITranslator | null,
  palette: ICommandPalette | null,
  dialogs: ISessionContextDialogs | null
): void {
  const loadedTranslator = translator ?? nullTranslator;
  const trans = loadedTranslator.load('jupyter_eca');
  /** Return the notebook in the front tab; null when that tab has another kind of document. */
  const findFrontNotebook = (): NotebookPanel | null =>
    tracker.currentWidget === app.shell.currentWidget ? tracker.currentWidget : null;

  app.commands.addCommand(Command.ask, {
    label: trans.__('Ask the Assistant in a New Cell'),
    caption: trans.__('Ask the assistant in a new cell below'),
    icon: newQuestionIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => findFrontNotebook() !== null,
    execute: async () => {
      const panel = findFrontNotebook();
      if (panel !== null) {
        const { insertQuestion } = await import('./insert_cell');
        await insertQuestion(panel, dialogs ?? undefined, loadedTranslator);
      }
    }
  });
  app.commands.addCommand(Command.stop, {
    label: trans.__('Stop the Assistant'),
    caption: trans.__('Stop the assistant in all chats'),
    describedBy: { args: { type: 'object', properties: {} } },
    execute: async () => {
      const { stopAssistant } = await import('./stop');
      await stopAssistant(app.serviceManager.serverSettings, trans);
    }
  });
  app.shell.currentChanged?.connect(() => {
    app.commands.notifyCommandChanged(Command.ask);
  });
  for (const command of Object.values(Command)) {
    palette?.addItem({ command, category: trans.__('Assistant') });
  }
}
