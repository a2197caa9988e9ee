/** The diff of a notebook: its cells have headings, and the lines are numbered within a cell. */

import { expect, test } from 'vitest';

import { findCellNumber, parseCellDiff, parseDiff } from '../../src/render/unified_diff';

const DIFF = `--- a/a.ipynb
+++ b/a.ipynb
@@ -1,4 +1,4 @@
 # %% cell 1 [c1] code
-a = 1
+a = 2
 b = 3
+# %% new cell [c9] markdown
+\\# %% cell 7 [x] code
@@ -12,2 +13,1 @@
 y = 1
-# %% cell 4 [c4] raw
-z
`;

test('the lines of a cell are numbered from 1, and a hunk that begins inside of a cell has no numbers', () => {
  expect(parseCellDiff(DIFF)).toEqual([
    { kind: 'same', text: '# %% cell 1 [c1] code', cell: { number: 1, type: 'code' } },
    { kind: 'remove', text: 'a = 1', oldNumber: 1 },
    { kind: 'add', text: 'a = 2', newNumber: 1 },
    { kind: 'same', text: 'b = 3', oldNumber: 2, newNumber: 2 },
    { kind: 'add', text: '# %% new cell [c9] markdown', cell: { number: undefined, type: 'markdown' } },
    { kind: 'add', text: '\\# %% cell 7 [x] code', newNumber: 1 },
    { kind: 'gap', text: '' },
    { kind: 'same', text: 'y = 1' },
    { kind: 'remove', text: '# %% cell 4 [c4] raw', cell: { number: 4, type: 'raw' } },
    { kind: 'remove', text: 'z', oldNumber: 1 }
  ]);
});

test('in the diff of a file, a line that looks like the heading of a cell is a line', () => {
  expect(parseDiff('@@ -1 +1 @@\n-# %% cell 1 [c1] code\n')).toEqual([
    { kind: 'remove', text: '# %% cell 1 [c1] code', oldNumber: 1 }
  ]);
});

test('a gap is shown before a part in the middle of a file, and none before its first line or in a new file', () => {
  const kinds = (diff: string): readonly string[] => parseDiff(diff).map(({ kind }) => kind);
  expect(kinds('@@ -0,0 +1,2 @@\n+a\n+b\n')).toEqual(['add', 'add']);
  expect(kinds('@@ -1,2 +0,0 @@\n-a\n-b\n')).toEqual(['remove', 'remove']);
  expect(kinds('@@ -1,1 +1,2 @@\n a\n+b\n@@ -9,1 +10,0 @@\n-c\n')).toEqual(['same', 'add', 'gap', 'remove']);
});

test('the cells of a new notebook have headings with their numbers', () => {
  expect(parseCellDiff('@@ -0,0 +1,2 @@\n+# %% cell 2 of 3 code\n+x\n')).toEqual([
    { kind: 'add', text: '# %% cell 2 of 3 code', cell: { number: 2, type: 'code' } },
    { kind: 'add', text: 'x', newNumber: 1 }
  ]);
});

test('the number of a cell is found by its id, and not in a line of a source', () => {
  expect(findCellNumber(DIFF, 'c4')).toBe(4);
  expect(findCellNumber(DIFF, 'c9')).toBeUndefined();
  expect(findCellNumber(DIFF, 'x')).toBeUndefined();
});
