/**
 * What JSX is compiled to, see `jsxFactory` in `tsconfig.json`.
 *
 * It is React's function under a name that the minifier can shorten. The name of a member of a shared module it cannot:
 * `React.createElement` would take 16 bytes for each of the 900 elements.
 */

import * as React from 'react';

export const createElement = React.createElement;
