/**
 * Defines the plugin that notifies a user who looks at another tab of the browser when a chat needs the user.
 * `watch.ts` does the work.
 *
 * The plugin does not load the panel, but waits until something else has loaded it.
 */

import { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { IPanelPlace, PanelPlace } from '../panel/place';

export const attentionPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:attention',
  description: 'Calls a user who looks at another tab of the browser.',
  autoStart: true,
  requires: [IPanelPlace],
  optional: [ITranslator],
  activate: ({ commands }, place: PanelPlace, translator: ITranslator | null) => {
    void place.loaded.then(async panel => {
      const { watchChats } = await import('./watch');
      watchChats(panel, commands, (translator ?? nullTranslator).load('jupyter_eca'));
    });
  }
};
