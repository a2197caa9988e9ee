/** The plugins that JupyterLab loads. */

import { commands } from './commands';

export default [commands];
