/** Exports the plugins that JupyterLab loads. Each feature has one plugin, in its `plugin.ts`. */

import { notebookPlugin } from './notebook/plugin';
import { inlinePlugin } from './inline/plugin';
import { errorsPlugin } from './errors/plugin';
import { settingsPlugin } from './settings/plugin';
import { panelPlugin } from './panel/plugin';
import { answersPlugin } from './answers/plugin';
import { filesPlugin } from './files/plugin';
import { statusPlugin } from './status/plugin';
import { attentionPlugin } from './attention/plugin';

export default [
  notebookPlugin,
  panelPlugin,
  errorsPlugin,
  answersPlugin,
  settingsPlugin,
  statusPlugin,
  attentionPlugin,
  inlinePlugin,
  filesPlugin
];
