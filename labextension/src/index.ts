/** The plugins that JupyterLab loads. */

import { commands } from './commands';
import { helping } from './helping';
import { opening } from './opening';

export default [commands, opening, helping];
