/** Mentions are words of the text: they are chosen, found and passed by the caret. */

import { expect, test } from 'vitest';

import { findDeletion, keepOutside } from '../../src/mentions/caret';
import {
  addContexts,
  chooseWord,
  cutText,
  findMentions,
  nameMention,
  pickMentioned
} from '../../src/mentions/mentions';
import { ChatContext } from '../../src/wire/protocol';

const cell: ChatContext = { type: 'cell', path: 'a.ipynb', cell: 'x', label: 'cell:3', description: '# Load' };
const variable: ChatContext = { type: 'variable', name: 'df', label: 'var:df', description: 'DataFrame 3 x 2' };
const file: ChatContext = { type: 'file', path: '/srv/demo/one/data.csv' };
const other: ChatContext = { type: 'file', path: '/srv/demo/two/data.csv' };

/** Return the words of the mentions in a text. */
function words(text: string, ...known: ChatContext[]): readonly string[] {
  return findMentions(text, known).map(({ start, end }) => text.slice(start, end));
}

test.each<[ChatContext, string | undefined]>([
  [cell, '@cell:3'],
  [variable, '@var:df'],
  [{ type: 'table', name: 'orders', label: 'table:orders' }, '@table:orders'],
  [{ type: 'table', name: 'order items', label: 'table:order items' }, '@"table:order items"'],
  [file, '@data.csv'],
  [{ type: 'file', path: '/srv/demo/my data.csv' }, '@"my data.csv"'],
  [{ type: 'file', path: 'a/b.py', linesRange: { start: 2, end: 4 } }, '@b.py:L2-4'],
  [{ type: 'directory', path: '/srv/demo/src' }, '@src'],
  [{ type: 'web', url: 'https://example.org/a' }, '@https://example.org/a'],
  [{ type: 'mcpResource', server: 'docs', uri: 'doc://a', name: 'a' }, '@docs:doc://a'],
  [{ type: 'error', label: 'error' }, '@error'],
  [{ type: 'repoMap' }, '@repoMap'],
  [{ type: 'image', mediaType: 'image/png', base64: '' }, undefined],
  [{ type: 'cell', cell: 'x' }, undefined],
  [{ type: 'something' }, undefined]
])('the word of %j is %s', (context, word) => {
  expect(chooseWord(context, [])).toBe(word);
  if (word !== undefined) {
    expect(words(`see ${word}, please`, context)).toEqual([word]);
  }
});

test('a file whose name is taken by another file gets its folder, too', () => {
  expect(chooseWord(other, [file])).toBe('@two/data.csv');
  expect(chooseWord(file, [file])).toBe('@data.csv');
  const found = findMentions('@data.csv or @two/data.csv', [file, other]);
  expect(found.map(({ context }) => context)).toEqual([file, other]);
});

test('the same cell has the same word when it was changed, and a cell of another notebook has none', () => {
  const changed: ChatContext = { ...cell, description: '# Load it' };
  expect(chooseWord(changed, [cell])).toBe('@cell:3');
  expect(addContexts([cell], [changed])).toEqual([cell]);
  expect(chooseWord({ ...cell, path: 'b.ipynb', cell: 'y' }, [cell])).toBeUndefined();
});

test('a mention is a whole word', () => {
  expect(words('@cell:3', cell)).toEqual(['@cell:3']);
  expect(words('(@cell:3) and @cell:3.', cell)).toEqual(['@cell:3', '@cell:3']);
  expect(words("@cell:3's output\n@cell:3?", cell)).toEqual(['@cell:3', '@cell:3']);
  expect(words('@cell:34 me@cell:3 @cell:3.5 @cell:3-x', cell)).toEqual([]);
  expect(words('@data.csv/x', file)).toEqual([]);
});

test('only the contexts that the text mentions are sent, in the order in which they were chosen', () => {
  expect(pickMentioned('@var:df in @cell:3 and @var:df', [cell, variable, file])).toEqual([cell, variable]);
});

test('a context is added once', () => {
  expect(addContexts([cell], [{ ...cell }, variable])).toEqual([cell, variable]);
});

test('a text is cut into mentions and what stands between them', () => {
  const text = 'Why is @var:df empty?';
  expect(cutText(text, findMentions(text, [variable]))).toEqual([
    { text: 'Why is ' },
    { text: '@var:df', context: variable },
    { text: ' empty?' }
  ]);
});

test('the name of a mention says what it stands for', () => {
  expect(nameMention('@cell:3', cell)).toBe('@cell:3: # Load');
  expect(nameMention('@data.csv', file)).toBe('@data.csv: /srv/demo/one/data.csv');
  expect(nameMention('@error', { type: 'error', label: 'error' })).toBe('@error');
});

const TEXT = 'a @cell:3 b';
const MENTIONS = findMentions(TEXT, [cell]);

/** Return where the caret stands after it has moved. */
function moveCaret(from: number, to: number): number {
  return keepOutside(MENTIONS, { start: from, end: from }, { start: to, end: to }).start;
}

test('the caret passes a mention at once', () => {
  expect([moveCaret(2, 3), moveCaret(9, 8), moveCaret(11, 5), moveCaret(1, 2), moveCaret(10, 9)]).toEqual([
    9, 2, 2, 2, 9
  ]);
});

test('a selection has the whole mention or nothing of it', () => {
  const caret = { start: 2, end: 2 };
  expect(keepOutside(MENTIONS, caret, { start: 2, end: 3 })).toEqual({ start: 2, end: 9 });
  expect(keepOutside(MENTIONS, { start: 2, end: 9 }, { start: 2, end: 8 })).toEqual({ start: 2, end: 2 });
  expect(keepOutside(MENTIONS, { start: 9, end: 9 }, { start: 8, end: 9 })).toEqual({ start: 2, end: 9 });
  expect(keepOutside(MENTIONS, { start: 0, end: 0 }, { start: 3, end: 7 })).toEqual({ start: 2, end: 9 });
  expect(keepOutside(MENTIONS, { start: 0, end: 0 }, { start: 0, end: 11 })).toEqual({ start: 0, end: 11 });
});

test('Backspace and Delete remove a mention whole, and by words together with the space before it', () => {
  expect(findDeletion(TEXT, MENTIONS, 9, 'Backspace', false)).toEqual({ start: 2, end: 9 });
  expect(findDeletion(TEXT, MENTIONS, 10, 'Backspace', false)).toBeUndefined();
  expect(findDeletion(TEXT, MENTIONS, 10, 'Backspace', true)).toEqual({ start: 2, end: 10 });
  expect(findDeletion(TEXT, MENTIONS, 2, 'Delete', false)).toEqual({ start: 2, end: 9 });
  expect(findDeletion(TEXT, MENTIONS, 1, 'Delete', true)).toEqual({ start: 1, end: 9 });
  expect(findDeletion(TEXT, MENTIONS, 1, 'Delete', false)).toBeUndefined();
});
