/** What is offered below a question that the kernel does not understand. */

import { expect, test } from 'vitest';

import { findMagicHelp } from '../../src/errors/unknown_magic';

/** What IPython 9 and ipykernel 7 print about a cell magic and about a line magic. */
const CELL = 'UsageError: Cell magic `%%eca` not found.\n';
const LINE = 'UsageError: Line magic function `%eca` not found.\n';

test.each([
  ['%%eca explain df', CELL],
  ['%eca explain df', LINE],
  ['x = 1\n%eca explain df', LINE],
  ['%%time\n%eca explain df', `a warning\n${LINE}`],
  ['%%eca explain df', "UsageError: '%%eca' gibt es nicht.\n"]
])('the extension is loaded where IPython does not know the magic of %j', (source, stderr) => {
  expect(findMagicHelp(source, { hasError: false, stderr }, 'python')).toBe('load');
});

test('a notebook whose kernel has not told its language is helped as well', () => {
  expect(findMagicHelp('%%eca hi', { hasError: false, stderr: CELL }, '')).toBe('load');
});

test.each([
  ['%eca hi\n%nothing', 'UsageError: Line magic function `%nothing` not found.\n'],
  ['%eca hi', 'UsageError: Line magic function `%ecab` not found.\n'],
  ['print("%eca")', 'a warning\n'],
  ['%%eca hi', '']
])('nothing is loaded for %j where another thing failed', (source, stderr) => {
  expect(findMagicHelp(source, { hasError: true, stderr }, 'python')).toBeUndefined();
});

test.each([
  { hasError: true, stderr: '' },
  { hasError: false, stderr: 'bash: fg: %%eca: no such job\n' }
])('the panel is offered in a kernel of another language, where %j is left of the question', outputs => {
  expect(findMagicHelp('%%eca hi', outputs, 'bash')).toBe('ask');
  expect(findMagicHelp('ls', outputs, 'bash')).toBeUndefined();
});

test('a question that did not fail needs no help', () => {
  expect(findMagicHelp('%%eca hi', { hasError: false, stderr: '' }, 'R')).toBeUndefined();
});
