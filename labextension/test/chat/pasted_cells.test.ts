import { expect, test } from 'vitest';

import { toCellContext, parseCells } from '../../src/chat/pasted_cells';

const CELL = { id: 'c1', cell_type: 'code', source: ['\n', 'x = 1\n', 'y = 2'] };

test('only text that is the JSON of cells is parsed as cells', () => {
  expect(parseCells(JSON.stringify([CELL]))).toEqual([CELL]);
  for (const text of [
    'x = 1',
    '[]',
    '[{"cell_type": "code"}]',
    '[{"cell_type": "code", "source": 1',
    '{"cell_type": 1}'
  ]) {
    expect(parseCells(text)).toBeUndefined();
  }
});

test('a cell of an open notebook becomes a reference, any other cell its source', () => {
  const open = toCellContext(CELL, id => (id === 'c1' ? { path: 'a.ipynb', number: 3 } : undefined));
  expect(open).toEqual({ type: 'cell', path: 'a.ipynb', cell: 'c1', label: 'cell:3', description: 'x = 1' });
  const gone = toCellContext(CELL, () => undefined);
  expect(gone).toEqual({ type: 'text', label: 'code cell: x = 1', content: '\nx = 1\ny = 2' });
});
