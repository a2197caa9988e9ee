/**
 * Provides the icon of the assistant for Lab's menus, tabs and launcher.
 *
 * The icons inside the panel are in `Icon.tsx`.
 */

import { LabIcon } from '@jupyterlab/ui-components';

import svgstr from '../../../style/assistant.svg';

export const assistantIcon = new LabIcon({ name: 'jupyter-eca:assistant', svgstr });
