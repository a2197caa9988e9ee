import { setDiagnostics } from '@codemirror/lint';
import { EditorState, StateField } from '@codemirror/state';
import { Decoration, DecorationSet, EditorView } from '@codemirror/view';
import { expect, test } from 'vitest';

import { listFindings, parsePath, toDiagnostic, toUri } from '../../src/notebook/lint';

const SOURCE = 'x = 1\n😀 = undefined_name';

test('findings of a linter are listed once each, with line and character', () => {
  const found = [
    { from: 6, to: 23, severity: 'warning' as const, message: 'a long one', source: 'pylsp' },
    { from: 11, to: 25, severity: 'error' as const, message: 'undefined' }
  ];
  const state = EditorState.create({ doc: SOURCE });
  const linted = state.update(setDiagnostics(state, found)).state;
  expect(
    listFindings(linted, EditorView.decorations).map(one => toDiagnostic('jupyter:nb.ipynb#a', linted, one))
  ).toEqual([
    {
      uri: 'jupyter:nb.ipynb#a',
      severity: 'warning',
      source: 'pylsp',
      message: 'a long one',
      range: { start: { line: 1, character: 0 }, end: { line: 1, character: 17 } }
    },
    {
      uri: 'jupyter:nb.ipynb#a',
      severity: 'error',
      source: 'editor',
      message: 'undefined',
      range: { start: { line: 1, character: 5 }, end: { line: 1, character: 19 } }
    }
  ]);
});

test('marks of an older lint package hold one finding each, and other marks none', () => {
  const diagnostic = { from: 0, to: 99, severity: 'hint' as const, message: 'old' };
  const marks = Decoration.set([
    Decoration.mark({ class: 'cm-lintRange', diagnostic }).range(0, 1),
    Decoration.mark({ class: 'cm-searchMatch' }).range(2, 3)
  ]);
  const field = StateField.define<DecorationSet>({
    create: () => marks,
    update: value => value,
    provide: one => EditorView.decorations.from(one)
  });
  const state = EditorState.create({ doc: 'x = 1', extensions: [field, EditorView.decorations.of(() => marks)] });
  const [only, ...more] = listFindings(state, EditorView.decorations);
  expect(more).toEqual([]);
  expect(only && toDiagnostic('u', state, only).range.end).toEqual({ line: 0, character: 5 });
});

test.each(['work/nb.ipynb', 'a b/ä#1?.ipynb', '100%/x:y.ipynb'])('%s is found again in its URI', path => {
  expect(parsePath(toUri(path))).toBe(path);
  expect(parsePath(toUri(path, 'cell'))).toBe(path);
});

test('a URI with another scheme names no notebook', () => {
  expect([parsePath('file:///nb.ipynb'), parsePath('jupyter:%')]).toEqual([undefined, undefined]);
});
