import { expect, test } from 'vitest';

import { findCommentSign, buildDocument } from '../../src/inline/completion_context';

test('the cells above come before the text, prose becomes comments, and the position counts both', () => {
  const above = [
    { isCode: false, source: 'Prices\nin euros' },
    { isCode: true, source: 'prices = [1]' }
  ];
  expect(buildDocument('a\nb', 3, above, '#')).toEqual({
    docText: '# Prices\n# in euros\n\nprices = [1]\n\na\nb',
    position: { line: 7, character: 2 }
  });
});

test('a position counts characters as Python does', () => {
  expect(buildDocument('🐍 = ', 4, [], '#').position).toEqual({ line: 1, character: 5 });
});

test('of many cells above, the nearest are kept', () => {
  const above = [
    { isCode: true, source: 'far' },
    { isCode: true, source: 'x'.repeat(9000) },
    { isCode: true, source: 'near' }
  ];
  const { docText } = buildDocument('', 0, above, '#');
  expect(docText.endsWith('x\n\nnear\n\n')).toBe(true);
  expect(docText.length).toBe(8000);
});

test('for a language with unknown comments, prose stays the same', () => {
  expect(findCommentSign('text/x-ipython')).toBe('#');
  expect(findCommentSign('text/javascript')).toBe('//');
  expect(findCommentSign('text/x-ipythongfm')).toBe('');
  expect(buildDocument('', 0, [{ isCode: false, source: 'Words' }], findCommentSign('text/markdown')).docText).toBe(
    'Words\n\n'
  );
});
