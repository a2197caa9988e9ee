/**
 * Defines the plugin of the settings: it adds the command that opens them in Lab's main area, and its entries in Lab's
 * command palette.
 *
 * The settings themselves (`widget.tsx`) are loaded when the command is used.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { settingsIcon } from '@jupyterlab/ui-components';

import { IPanelPlace, PanelPlace } from '../panel/place';
import type { SettingsWidget } from './widget';

/** Menus and shortcuts in schema/plugin.json use this id. */
const OPEN_COMMAND = 'eca:open-settings';

export const settingsPlugin: JupyterFrontEndPlugin<void> = {
  // Users can switch a plugin of Lab off by its id. So this id stays, although the folder has another name.
  id: 'jupyter-eca:managing',
  description: 'Opens the settings of the assistant.',
  autoStart: true,
  requires: [IPanelPlace],
  optional: [ITranslator, ICommandPalette],
  activate
};

/** Add the command and its entries in the palette. */
function activate(
  app: JupyterFrontEnd,
  place: PanelPlace,
  translator: ITranslator | null,
  palette: ICommandPalette | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  // The labels of the palette's entries that open one section, by the names of the sections (`Settings.tsx`).
  const sections: Readonly<Record<string, string>> = {
    defaults: trans.__('Models and Budget of the Assistant'),
    servers: trans.__('MCP Servers of the Assistant'),
    providers: trans.__('Providers and Keys of the Assistant'),
    rules: trans.__('Approval Rules of the Assistant'),
    jobs: trans.__('Background Jobs of the Assistant'),
    costs: trans.__('Cost of the Assistant'),
    report: trans.__('Doctor of the Assistant')
  };
  /** The open settings; undefined while they are closed. */
  let openSettings: Promise<MainAreaWidget<SettingsWidget>> | undefined;
  const openWidget = async (): Promise<MainAreaWidget<SettingsWidget>> => {
    const panel = await place.loadPanel();
    const { SettingsWidget } = await import('./widget');
    const widget = new MainAreaWidget({ content: new SettingsWidget(panel) });
    widget.id = 'jupyter-eca:settings';
    widget.title.label = trans.__('Assistant Settings');
    widget.title.icon = settingsIcon;
    widget.toolbar.hide();
    widget.disposed.connect(() => {
      openSettings = undefined;
    });
    app.shell.add(widget, 'main');
    if (!widget.isAttached) {
      // A page of Jupyter Notebook shows one document, and takes no other one.
      app.shell.add(widget, 'right');
      widget.content.offerWayBack();
    }
    return widget;
  };
  app.commands.addCommand(OPEN_COMMAND, {
    label: ({ section }) =>
      (typeof section === 'string' ? sections[section] : undefined) ?? trans.__('Assistant Settings'),
    caption: trans.__('Models, tools, keys, approval rules, background jobs and costs of the assistant'),
    icon: settingsIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          section: { type: 'string', enum: Object.keys(sections), description: 'The section that is shown' }
        }
      }
    },
    execute: async ({ section }) => {
      openSettings ??= openWidget();
      const widget = await openSettings;
      if (typeof section === 'string') {
        widget.content.showSection(section);
      }
      app.shell.activateById(widget.id);
    }
  });
  const category = trans.__('Assistant');
  palette?.addItem({ command: OPEN_COMMAND, category });
  for (const section of Object.keys(sections)) {
    palette?.addItem({ command: OPEN_COMMAND, category, args: { section } });
  }
}
