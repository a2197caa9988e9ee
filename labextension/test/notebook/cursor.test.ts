import type { CodeEditor } from '@jupyterlab/codeeditor';
import { expect, test } from 'vitest';

import { toFileContext, formatLines, readPlace, readRange } from '../../src/notebook/cursor';

const SOURCE = Array.from({ length: 60 }, (_, n) => `line ${String(n + 1)}`).join('\n');

/** With a selection from one line and column to another, counted from 0. */
function editor(start: [number, number], end: [number, number]): CodeEditor.IEditor {
  const at = ([line, column]: [number, number]): CodeEditor.IPosition => ({ line, column });
  const lines = SOURCE.split('\n');
  return {
    getSelection: () => ({ start: at(start), end: at(end), uuid: '' }),
    getOffsetAt: ({ line, column }: CodeEditor.IPosition) => [...lines.slice(0, line), ''].join('\n').length + column,
    model: { sharedModel: { getSource: () => SOURCE } }
  } as unknown as CodeEditor.IEditor;
}

test('a selection is described by its lines, without a line of which nothing is selected', () => {
  expect(readPlace(editor([1, 0], [2, 6]))).toEqual({ first: 2, last: 3, text: 'line 2\nline 3' });
  expect(formatLines(readPlace(editor([1, 0], [2, 0])))).toBe('line 2');
  expect(readRange(editor([1, 0], [2, 6]))).toEqual({
    start: { line: 1, character: 0 },
    end: { line: 2, character: 6 }
  });
  expect(toFileContext({ path: 'a.py', editor: editor([1, 0], [2, 6]) })).toEqual({
    type: 'text',
    label: 'selected in a.py, lines 2 to 3',
    content: 'line 2\nline 3'
  });
});

test('without a selection the lines around the cursor are sent, as they are in the editor', () => {
  const { label, content } = toFileContext({ path: 'a.py', editor: editor([29, 2], [29, 2]) });
  expect(label).toBe('a.py, lines 10 to 50, cursor in line 30');
  expect(content.split('\n')).toHaveLength(41);
  expect(content.startsWith('line 10\n')).toBe(true);
});
