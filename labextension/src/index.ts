/** The plugins that JupyterLab loads. */

import { commands } from './commands';
import { opening } from './opening';

export default [commands, opening];
