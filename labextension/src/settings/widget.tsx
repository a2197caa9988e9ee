/**
 * Shows the settings in a widget of Lab's main area. The settings use the session of the panel.
 *
 * This module knows no command: the command is in `plugin.ts`. The sections are in `Settings.tsx`.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import '../../style/settings.css';

import type { AssistantPanel } from '../panel/panel';
import { createElement } from '../view/common/element';
import { Env, EnvProvider } from '../view/common/env';
import { ignoreRepeatedClicks } from '../render/repeated_clicks';
import { OwnFiles } from './own_files';
import { isSection, Section, Settings } from './Settings';

/** The settings as a widget of Lab. `panel` provides the session and the environment of the views. */
export class SettingsWidget extends ReactWidget {
  /** The section that is shown. */
  private section: Section = 'defaults';
  /** Whether the settings are in the place of the chat, as in Jupyter Notebook. */
  private isInPlaceOfChat = false;
  /** The environment of the views: that of the panel, with a function that opens the files of the settings. */
  private readonly env: Env;

  constructor(private readonly panel: AssistantPanel) {
    super();
    const { env, documentManager, session } = panel;
    this.env = documentManager === undefined ? env : { ...env, ownFiles: new OwnFiles(documentManager, session) };
    this.addClass('eca-SettingsHost');
    ignoreRepeatedClicks(this.node);
  }

  /** Show a section. An unknown name is ignored. */
  showSection(section: string): void {
    if (isSection(section)) {
      this.section = section;
      this.update();
    }
  }

  /** Show a button that leads back to the chat, because the settings are in its place. */
  offerWayBack(): void {
    this.isInPlaceOfChat = true;
    this.update();
  }

  protected override render(): React.ReactElement {
    return (
      <EnvProvider value={this.env}>
        <Settings
          session={this.panel.session}
          section={this.section}
          onChooseSection={section => {
            this.showSection(section);
          }}
          onTryAgent={agent => {
            this.panel.tryAgent(agent);
          }}
          onBack={
            this.isInPlaceOfChat
              ? () => {
                  this.panel.reveal();
                  this.panel.focus();
                }
              : undefined
          }
        />
      </EnvProvider>
    );
  }
}
