/** The panel's plugin: its place, and the commands that open it. The panel itself is loaded when it is first shown. */

import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookCellExecutor, INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { assistantIcon } from './icon';
import { PanelPlace } from './place';

/** Menus and shortcuts name it in schema/plugin.json. */
const OPEN = 'eca:open-panel';
/** Behind Lab's own panels of the right side. */
const RANK = 900;

type Area = 'left' | 'right' | 'main';

export const opening: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:panel',
  description: 'The panel to talk with the assistant in.',
  autoStart: true,
  requires: [INotebookTracker, IRenderMimeRegistry],
  optional: [ITranslator, ICommandPalette, ILauncher, ILayoutRestorer, INotebookCellExecutor],
  activate
};

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  rendermime: IRenderMimeRegistry,
  translator: ITranslator | null,
  palette: ICommandPalette | null,
  launcher: ILauncher | null,
  restorer: ILayoutRestorer | null,
  executor: INotebookCellExecutor | null
): void {
  const language = translator ?? nullTranslator;
  const trans = language.load('jupyter_eca');
  const openPath = (path: string): Promise<unknown> => app.commands.execute('docmanager:open', { path });
  const reveal = (id: string): void => {
    app.shell.activateById(id);
  };
  const settings = app.serviceManager.serverSettings;
  const place = new PanelPlace(async () => {
    const { AssistantPanel } = await import('./panel');
    const lab = { tracker, openPath, reveal, ...(executor && { executor }) };
    return new AssistantPanel({ settings, rendermime, translator: language, lab });
  });
  place.title.icon = assistantIcon;
  place.title.caption = trans.__('Assistant');
  place.node.setAttribute('role', 'region');
  place.node.setAttribute('aria-label', trans.__('Assistant'));
  const put = (area: Area): void => {
    place.title.label = area === 'main' ? trans.__('Assistant') : '';
    place.title.closable = area === 'main';
    app.shell.add(place, area, { rank: RANK });
  };
  put('right');
  restorer?.add(place, 'jupyter-eca:panel');

  app.commands.addCommand(OPEN, {
    label: args =>
      args.area === 'main' ? trans.__('Open the Assistant in the Main Area') : trans.__('Open the Assistant'),
    caption: trans.__('Talk with the assistant in a panel'),
    icon: assistantIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          area: { type: 'string', enum: ['left', 'right', 'main'], description: 'Where it is put' },
          message: { type: 'string', description: 'Asked at once, with what is worked on in the notebook' }
        }
      }
    },
    execute: ({ area, message }) => {
      if (area === 'left' || area === 'right' || area === 'main') {
        put(area);
      } else if (!place.isAttached) {
        put('right');
      }
      app.shell.activateById(place.id);
      if (typeof message === 'string') {
        place.ask(message);
      }
    }
  });
  const category = trans.__('Assistant');
  palette?.addItem({ command: OPEN, category });
  palette?.addItem({ command: OPEN, category, args: { area: 'main' } });
  launcher?.add({ command: OPEN, category: trans.__('Other'), rank: 1 });
}
