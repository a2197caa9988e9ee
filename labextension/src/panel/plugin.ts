/**
 * Defines the plugin of the panel: it adds the panel to Lab, and the commands that open the panel.
 *
 * The panel itself (`panel.tsx`) is created when it is first shown. Its modules are loaded a little before, once Lab
 * has nothing else to do.
 */

import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookCellExecutor, INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import type { Widget } from '@lumino/widgets';

import { addCellCommands, CellCommand } from './cell_commands';
import { assistantIcon } from '../view/common/assistant_icon';
import { PageNotebooks } from '../notebook/page_notebooks';
import { IPanelPlace, PanelPlace } from './place';
import { PreferenceStore } from '../view/common/preferences';

/** Menus and shortcuts in schema/plugin.json use this id. */
const OPEN_COMMAND = 'eca:open-panel';
/** The name of the app whose sidebars have a fixed width: a wider panel would be cut off. */
const NOTEBOOK_APP = 'Jupyter Notebook';
/** The position of the panel among others at the same side. A large number: it comes after Lab's own panels. */
const RANK = 900;

/** The areas of Lab in which the panel can be. */
type Area = 'left' | 'right' | 'main';

export const panelPlugin: JupyterFrontEndPlugin<PanelPlace> = {
  id: 'jupyter-eca:panel',
  description: 'Shows the panel in which the user talks with the assistant.',
  autoStart: true,
  provides: IPanelPlace,
  requires: [INotebookTracker, IRenderMimeRegistry],
  optional: [
    ITranslator,
    ICommandPalette,
    ILauncher,
    ILayoutRestorer,
    INotebookCellExecutor,
    ISettingRegistry,
    IDocumentManager
  ],
  activate
};

/** Create the place of the panel, add it to Lab, and add the commands. */
function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  rendermime: IRenderMimeRegistry,
  translator: ITranslator | null,
  palette: ICommandPalette | null,
  launcher: ILauncher | null,
  restorer: ILayoutRestorer | null,
  executor: INotebookCellExecutor | null,
  registry: ISettingRegistry | null,
  documentManager: IDocumentManager | null
): PanelPlace {
  const loadedTranslator = translator ?? nullTranslator;
  const trans = loadedTranslator.load('jupyter_eca');
  const openPath = (path: string): Promise<unknown> => app.commands.execute('docmanager:open', { path });
  const reveal = (id: string): void => {
    app.shell.activateById(id);
  };
  const settings = app.serviceManager.serverSettings;
  const preferences = new PreferenceStore();
  const findFrontWidget = (): Widget | null => app.shell.currentWidget;
  const lab = { tracker, openPath, reveal, findFrontWidget, ...(executor && { executor }) };
  // Lets the server use the open notebooks as soon as a cell asks the assistant. The panel gets the same notebooks.
  const page = new PageNotebooks(settings, lab);
  const importPanel = (): Promise<typeof import('./panel')> => import('./panel');
  // When Lab is ready and the browser has nothing else to do, the modules of the panel are loaded. Then the panel opens
  // in a third of the time. Safari does not report when it is idle. There the modules are loaded when the panel opens.
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- the types know no Safari
  void app.restored.then(() => window.requestIdleCallback?.(() => void importPanel()));
  const place = new PanelPlace(async () => {
    // For its first link the server has to load many modules. It does that while the panel is loaded here.
    const link = import('../wire/link').then(({ openLink }) => openLink(settings));
    // The session handles the error of the link. Until it does, the browser must not report an unhandled rejection.
    link.catch(() => undefined);
    const [{ AssistantPanel }, notebooks] = await Promise.all([importPanel(), page.load()]);
    const openSettings = (section?: string): void =>
      void app.commands.execute('eca:open-settings', section === undefined ? {} : { section });
    const parts = {
      settings,
      link,
      rendermime,
      translator: loadedTranslator,
      lab,
      notebooks,
      preferences,
      openSettings,
      documentManager: documentManager ?? undefined
    };
    return new AssistantPanel(parts);
  }, app.name === NOTEBOOK_APP);
  place.title.icon = assistantIcon;
  place.title.caption = trans.__('Assistant');
  place.node.setAttribute('role', 'region');
  place.node.setAttribute('aria-label', trans.__('Assistant'));
  /** Show the panel in an area of Lab. Only in the main area it has a tab with a title, which can be closed. */
  const addTo = (area: Area): void => {
    place.title.label = area === 'main' ? trans.__('Assistant') : '';
    place.title.closable = area === 'main';
    app.shell.add(place, area, { rank: RANK });
  };
  addTo('right');
  restorer?.add(place, 'jupyter-eca:panel');
  // Called with the side of Lab that the user has chosen in the settings.
  void preferences.follow(registry, app.restored, side => {
    if (place.isAttached && ![...app.shell.widgets('main'), ...app.shell.widgets(side)].includes(place)) {
      addTo(side);
    }
  });

  app.commands.addCommand(OPEN_COMMAND, {
    label: args =>
      args.area === 'main' ? trans.__('Open the Assistant in the Main Area') : trans.__('Open the Assistant'),
    caption: trans.__('Talk with the assistant in a panel'),
    icon: assistantIcon,
    // In Lab, the sidebar has a tab for the panel. In Jupyter Notebook the sidebar is closed, and shows no tab.
    isVisible: ({ toolbar }) => toolbar !== true || app.name === NOTEBOOK_APP,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          area: {
            type: 'string',
            enum: ['left', 'right', 'main'],
            description: 'The area in which the panel is shown'
          },
          message: {
            type: 'string',
            description: 'A question that is asked at once'
          }
        }
      }
    },
    execute: async ({ area, message }) => {
      if (area === 'left' || area === 'right' || area === 'main') {
        addTo(area);
      } else if (!place.isAttached) {
        addTo('right');
      }
      app.shell.activateById(place.id);
      if (typeof message === 'string') {
        place.ask(message);
      }
      // When this has resolved, the chat of the active notebook is shown, and stays. Callers of the command rely on
      // that.
      await (
        await place.loadPanel()
      ).connecting;
    }
  });
  addCellCommands(app.commands, tracker, trans, place);
  const category = trans.__('Assistant');
  Object.values(CellCommand).forEach(command => palette?.addItem({ command, category }));
  palette?.addItem({ command: OPEN_COMMAND, category });
  palette?.addItem({ command: OPEN_COMMAND, category, args: { area: 'main' } });
  void place.loaded.then(async ({ review }) => {
    const { addReviewCommands } = await import('../review/commands');
    addReviewCommands(app.commands, palette, tracker, review, trans);
  });
  launcher?.add({ command: OPEN_COMMAND, category: trans.__('Other'), rank: 1 });
  return place;
}
