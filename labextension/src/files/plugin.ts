/**
 * Defines the plugin that checks whether open files and notebooks have changed on disk: after an event of the server,
 * and when the user comes back to the page or goes to another document.
 *
 * This module knows no document: `reload.ts` finds the open documents, and `refresh.ts` compares them with the disk.
 * Both are loaded when a document is open.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import type { Refresher } from './refresh';

/** The schema of the events that `jupyter_eca/apps/server/file_events.py` sends. */
const SCHEMA_ID = 'https://events.jupyter.org/jupyter_eca/files/v1';

export const filesPlugin: JupyterFrontEndPlugin<void> = {
  // Users can switch a plugin of Lab off by its id. So this id stays, although the folder has another name.
  id: 'jupyter-eca:refreshing',
  description: 'Reads open documents again when they have changed on disk.',
  autoStart: true,
  optional: [ITranslator],
  activate
};

/** Begin to check the documents. */
function activate(app: JupyterFrontEnd, translator: ITranslator | null): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  let refresher: Promise<Refresher> | undefined;
  const check = (): void => {
    // Only the widget of a document has a `context`. The modules are loaded once, and then check at each call.
    if (refresher !== undefined || [...app.shell.widgets('main')].some(widget => 'context' in widget)) {
      refresher ??= import('./reload').then(({ createRefresher }) => createRefresher(app, trans));
      void refresher.then(loaded => loaded.check());
    }
  };
  app.serviceManager.events.stream.connect((_, { schema_id }) => {
    if (schema_id === SCHEMA_ID) {
      check();
    }
  });
  // A user who comes back from another window may have changed files there.
  window.addEventListener('focus', check);
  app.shell.currentChanged?.connect(check);
}
