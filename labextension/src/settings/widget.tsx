/**
 * The settings as a widget of Lab's main area. They use the panel's own connection.
 *
 * Knows no command: those are in `plugin.ts`. The sections are in `Settings.tsx`.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import '../../style/settings.css';

import type { AssistantPanel } from '../panel/panel';
import { EnvProvider } from '../view/common/env';
import { isSection, Section, Settings } from './Settings';

export class SettingsWidget extends ReactWidget {
  private section: Section = 'servers';

  constructor(private readonly panel: AssistantPanel) {
    super();
    this.addClass('eca-SettingsHost');
  }

  showSection(section: string): void {
    if (isSection(section)) {
      this.section = section;
      this.update();
    }
  }

  protected override render(): React.ReactElement {
    return (
      <EnvProvider value={this.panel.env}>
        <Settings
          session={this.panel.session}
          section={this.section}
          onSection={section => {
            this.showSection(section);
          }}
        />
      </EnvProvider>
    );
  }
}
