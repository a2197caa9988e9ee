/** The plugins that JupyterLab loads. */

import { commands } from './notebook/plugin';
import { ghosting } from './inline/plugin';
import { helping } from './errors/plugin';
import { managing } from './settings/plugin';
import { opening } from './panel/plugin';
import { refreshing } from './files/plugin';
import { status } from './status/plugin';

export default [commands, opening, helping, managing, status, ghosting, refreshing];
