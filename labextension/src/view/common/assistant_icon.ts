/** The assistant's icon. */

import { LabIcon } from '@jupyterlab/ui-components';

import svgstr from '../../../style/assistant.svg';

export const assistantIcon = new LabIcon({ name: 'jupyter-eca:assistant', svgstr });
