/**
 * Defines the function that creates React elements. The compiler writes a call of it in place of each tag of JSX,
 * because `jsxFactory` in `tsconfig.json` names it.
 *
 * It is React's own function, but as a variable of this module, whose name the minifier can shorten. The minifier
 * cannot shorten `React.createElement`, which would take 16 bytes for each of the 900 elements.
 */

import * as React from 'react';

export const createElement = React.createElement;
