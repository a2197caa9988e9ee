/** A waiting call whose cells have changed or are gone can do nothing, and says so. */

import { expect, test } from 'vitest';

import { findObstacle } from '../../src/notebook/proposed_cells';
import { FileChangeDetails, ToolCallDetails } from '../../src/wire/protocol';

const CELLS = [
  { id: 'a', source: 'x = 1' },
  { id: 'b', source: 'y = 2' }
];

function changing(...cells: NonNullable<FileChangeDetails['cells']>): ToolCallDetails {
  return { type: 'fileChange', path: 'n.ipynb', diff: '', linesAdded: 1, linesRemoved: 1, cells };
}

function running(id: string, source: string): ToolCallDetails {
  return { type: 'runCells', path: 'n.ipynb', cells: [{ number: 1, id, source }] };
}

const NEW = { id: 'new', cellType: 'code' as const, source: 'z' };

test.each<[string, ToolCallDetails, ReturnType<typeof findObstacle>]>([
  [
    'an edit of the source that it has read',
    changing({ kind: 'edit', cellId: 'a', was: 'x = 1', source: 'x' }),
    undefined
  ],
  ['an edit of another source', changing({ kind: 'edit', cellId: 'a', was: 'x = 0', source: 'x' }), 'changed'],
  ['a deletion of another source', changing({ kind: 'delete', cellId: 'b', was: 'y' }), 'changed'],
  ['an edit of a cell that is gone', changing({ kind: 'edit', cellId: 'c', was: 'x', source: 'y' }), 'gone'],
  ['a move of a cell that is gone', changing({ kind: 'move', cellId: 'c', index: 0 }), 'gone'],
  ['an insertion after a cell that is gone', changing({ kind: 'insert', index: 1, cell: NEW, after: 'c' }), 'gone'],
  ['an insertion at the top', changing({ kind: 'insert', index: 0, cell: NEW, after: '' }), undefined],
  [
    'an edit of a cell that the call inserts, and a second edit of a cell',
    changing(
      { kind: 'insert', index: 1, cell: NEW, after: 'a' },
      { kind: 'edit', cellId: 'new', was: 'z', source: 'zz' },
      { kind: 'edit', cellId: 'a', was: 'x = 1', source: 'x = 2' },
      { kind: 'edit', cellId: 'a', was: 'x = 2', source: 'x = 3' }
    ),
    undefined
  ],
  ['a run of a cell as it is', running('a', 'x = 1'), undefined],
  ['a run of a cell that was changed', running('a', 'x = 0'), 'changed'],
  ['a run of a cell that is gone', running('c', 'x = 0'), 'gone'],
  [
    'a task',
    { type: 'task', tasks: [], inProgressTaskIds: [], summary: { done: 0, inProgress: 0, pending: 0, total: 0 } },
    undefined
  ]
])('%s', (_, details, obstacle) => {
  expect(findObstacle(CELLS, details)).toBe(obstacle);
});

test('a cell that an earlier call changes is not compared', () => {
  const edit = changing({ kind: 'edit', cellId: 'a', was: 'x = 2', source: 'x = 3' });
  expect(findObstacle(CELLS, edit)).toBe('changed');
  const earlier = changing({ kind: 'edit', cellId: 'a', was: 'x = 1', source: 'x = 2' });
  expect(findObstacle(CELLS, edit, [earlier])).toBe(undefined);
  expect(findObstacle(CELLS, running('b', 'y = 3'), [earlier])).toBe('changed');
});
