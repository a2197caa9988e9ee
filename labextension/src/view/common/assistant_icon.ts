/**
 * Provides the icons of the assistant for Lab's menus, toolbars, tabs and launcher. Each is a speech bubble with another
 * sign in it, so that buttons that do different things look different.
 *
 * The icons inside the panel are in `Icon.tsx`.
 */

import { LabIcon } from '@jupyterlab/ui-components';

import bubble from '../../../style/speech_bubble.svg';

/** Return an icon with a sign in the bubble. `sign` is the path that draws the sign. */
const createIcon = (name: string, sign: string): LabIcon =>
  new LabIcon({ name: `jupyter-eca:${name}`, svgstr: bubble.replace('"/>', `${sign}"/>`) });

/** The assistant itself, that is the panel: a star. */
export const assistantIcon = createIcon('assistant', 'M12 6l1.2 3.3 3.3 1.2-3.3 1.2L12 15l-1.2-3.3-3.3-1.2 3.3-1.2z');
/** A question in a new cell: a plus sign. */
export const newQuestionIcon = createIcon('ask', 'M11 7h2v3h3v2h-3v3h-2v-3H8v-2h3z');
/** A question about a cell: a question mark. */
export const questionIcon = createIcon('ask-cell', 'M8.5 7h7v4H13v1.5h-2V9.5h2.5V9h-5zM11 13.5h2v2h-2z');
