/** The plugins that JupyterLab loads. */

import { commands } from './commands';
import { ghosting } from './ghosting';
import { helping } from './helping';
import { managing } from './managing';
import { opening } from './opening';
import { refreshing } from './refreshing';
import { status } from './status';

export default [commands, opening, helping, managing, status, ghosting, refreshing];
