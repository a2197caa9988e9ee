/**
 * The plugin of the settings: the commands and menus that open them in Lab's main area.
 *
 * The settings themselves (`widget.tsx`) are loaded when they are opened.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget } from '@jupyterlab/apputils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { assistantIcon } from '../view/common/assistant_icon';
import { IPanelPlace, PanelPlace } from '../panel/place';
import type { SettingsWidget } from './widget';

/** Menus and shortcuts in schema/plugin.json use this id. */
const OPEN = 'eca:open-settings';

export const settingsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:managing',
  description: 'Opens the settings of the assistant: servers, providers, rules, jobs, costs.',
  autoStart: true,
  requires: [IPanelPlace],
  optional: [ITranslator, ICommandPalette],
  activate
};

function activate(
  app: JupyterFrontEnd,
  place: PanelPlace,
  translator: ITranslator | null,
  palette: ICommandPalette | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  const sections: Readonly<Record<string, string>> = {
    servers: trans.__('MCP Servers of the Assistant'),
    providers: trans.__('Providers and Keys of the Assistant'),
    rules: trans.__('Approval Rules of the Assistant'),
    jobs: trans.__('Background Jobs of the Assistant'),
    costs: trans.__('Cost of the Assistant')
  };
  let open: Promise<MainAreaWidget<SettingsWidget>> | undefined;
  const openWidget = async (): Promise<MainAreaWidget<SettingsWidget>> => {
    const panel = await place.loadPanel();
    const { SettingsWidget } = await import('./widget');
    const widget = new MainAreaWidget({ content: new SettingsWidget(panel) });
    widget.id = 'jupyter-eca:settings';
    widget.title.label = trans.__('Assistant Settings');
    widget.title.icon = assistantIcon;
    widget.toolbar.hide();
    widget.disposed.connect(() => {
      open = undefined;
    });
    app.shell.add(widget, 'main');
    return widget;
  };
  app.commands.addCommand(OPEN, {
    label: ({ section }) =>
      (typeof section === 'string' ? sections[section] : undefined) ?? trans.__('Assistant Settings'),
    caption: trans.__('Servers, providers, rules, jobs and cost of the assistant'),
    icon: assistantIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          section: { type: 'string', enum: Object.keys(sections), description: 'What is shown of it' }
        }
      }
    },
    execute: async ({ section }) => {
      open ??= openWidget();
      const widget = await open;
      if (typeof section === 'string') {
        widget.content.showSection(section);
      }
      app.shell.activateById(widget.id);
    }
  });
  const category = trans.__('Assistant');
  palette?.addItem({ command: OPEN, category });
  for (const section of Object.keys(sections)) {
    palette?.addItem({ command: OPEN, category, args: { section } });
  }
}
