/** A notebook that was only opened has the sources of its file, though Lab marks it as changed. */

import { expect, test } from 'vitest';

import { haveSameSources } from '../../src/notebook/same_sources';

const file = (...sources: (string | string[])[]): string =>
  JSON.stringify({ cells: sources.map(source => ({ cell_type: 'code', source })), metadata: {} });

test.each<[string, string, string | undefined, boolean]>([
  ['the same cells', file('x = 1', 'y'), file('x = 1', 'y'), true],
  ['a text and its lines', file('a\nb'), file(['a\n', 'b']), true],
  ['another source', file('x = 1'), file('x = 2'), false],
  ['a cell more', file('x', 'y'), file('x'), false],
  ['a notebook without cells', file(), file(), false],
  ['an unknown file', file('x'), undefined, false],
  ['a file that is no notebook', 'x = 1', 'x = 1', false]
])('%s', (_, open, made, expected) => {
  expect(haveSameSources(open, made)).toBe(expected);
});
