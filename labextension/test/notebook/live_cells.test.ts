/** Changes in the shared model that JupyterLab uses, with its two undo histories. */

import { ISharedCodeCell, YNotebook } from '@jupyter/ydoc';
import { beforeEach, expect, test, vi } from 'vitest';

import {
  applySteps,
  NotebookChange,
  planSteps,
  Refusal,
  CellOutline,
  toNotebookCell
} from '../../src/notebook/live_cells';
import { NotebookCell } from '../../src/wire/protocol';

// Yjs says this of each cell that Lab's own `createCell` makes.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(text => {
    expect(text).toMatch(/before reading data|Not same Y.Doc/);
  });
});

const OUTPUT = { output_type: 'stream', name: 'stdout', text: 'one\n' };

/** Of the cells a, b and c: code that ran, a heading, and code that never ran. As Lab opens it. */
function notebook(): YNotebook {
  const model = YNotebook.create({
    disableDocumentWideUndoRedo: true,
    data: {
      nbformat: 4,
      nbformat_minor: 5,
      metadata: {},
      cells: [
        {
          id: 'a',
          cell_type: 'code',
          source: 'print(1)',
          metadata: { tags: ['t'] },
          outputs: [OUTPUT],
          execution_count: 3
        },
        { id: 'b', cell_type: 'markdown', source: '# B', metadata: {} },
        { id: 'c', cell_type: 'code', source: 'x = 1\ny = 2', metadata: {}, outputs: [], execution_count: null }
      ]
    } as unknown as Parameters<YNotebook['fromJSON']>[0]
  });
  model.clearUndoHistory();
  return model;
}

function standing(model: YNotebook): CellOutline[] {
  return model.cells.map(({ id, cell_type, source }) => ({ id, cellType: cell_type, source }));
}

function change(model: YNotebook, ...changes: NotebookChange[]): void {
  applySteps(model, planSteps(standing(model), changes));
}

/** `id:source` of each. */
function shown(model: YNotebook): string[] {
  return model.cells.map(({ id, source }) => `${id}:${source}`);
}

function cell(model: YNotebook, id: string): YNotebook['cells'][number] {
  const found = model.cells.find(one => one.id === id);
  if (found === undefined) {
    throw new Error(`no cell ${id}`);
  }
  return found;
}

const START = ['a:print(1)', 'b:# B', 'c:x = 1\ny = 2'];
const EDIT: NotebookChange = { kind: 'edit', cellId: 'a', was: 'print(1)', source: 'print(2)' };
const EDIT_C: NotebookChange = { kind: 'edit', cellId: 'c', was: 'x = 1\ny = 2', source: 'x = 1\ny = 3' };
const INSERT: NotebookChange = { kind: 'insert', index: 1, cell: { id: 'n', cellType: 'code', source: 'new' } };

test('changes are made in order, each after the one before', () => {
  const model = notebook();
  change(
    model,
    INSERT,
    { kind: 'edit', cellId: 'n', was: 'new', source: 'newer' },
    { kind: 'move', cellId: 'a', index: 2 },
    { kind: 'delete', cellId: 'b', was: '# B' },
    { kind: 'insert', index: 99, cell: { id: 'm', cellType: 'markdown', source: 'end' } }
  );
  expect(shown(model)).toEqual(['n:newer', 'a:print(1)', 'c:x = 1\ny = 2', 'm:end']);
});

test('an edit keeps id, outputs, count and metadata', () => {
  const model = notebook();
  change(model, EDIT);
  expect(toNotebookCell(cell(model, 'a'), 'edited')).toEqual({
    id: 'a',
    cellType: 'code',
    source: 'print(2)',
    metadata: { tags: ['t'] },
    executionCount: 3,
    outputs: [OUTPUT],
    state: 'edited'
  });
});

test('an edit removes the error of the source before it, and one undo brings both back', () => {
  const model = notebook();
  const failed = { output_type: 'error', ename: 'E', evalue: 'no', traceback: [] };
  (cell(model, 'a') as ISharedCodeCell).setOutputs([OUTPUT, failed]);
  const before = toNotebookCell(cell(model, 'a'));
  change(model, EDIT);
  expect(toNotebookCell(cell(model, 'a'))).toEqual({
    id: 'a',
    cellType: 'code',
    source: 'print(2)',
    metadata: { tags: ['t'] },
    outputs: []
  });
  model.undoManager.undo();
  expect(toNotebookCell(cell(model, 'a'))).toEqual(before);
});

test('a cell that moves keeps everything, in both directions', () => {
  const model = notebook();
  const before = toNotebookCell(cell(model, 'a'));
  change(model, { kind: 'move', cellId: 'a', index: 2 });
  expect(shown(model)).toEqual(['b:# B', 'c:x = 1\ny = 2', 'a:print(1)']);
  expect(toNotebookCell(cell(model, 'a'))).toEqual(before);
  change(model, { kind: 'move', cellId: 'a', index: 0 });
  expect(shown(model)).toEqual(START);
});

test.each<[string, NotebookChange, string]>([
  ['a cell that is gone', { kind: 'edit', cellId: 'z', was: '', source: 'x' }, 'cell z is gone'],
  [
    'a cell that was changed meanwhile',
    { kind: 'edit', cellId: 'c', was: 'x = 0', source: 'x' },
    'cell c was changed meanwhile; it is now:\nx = 1\ny = 2'
  ],
  ['a deletion of what was changed', { kind: 'delete', cellId: 'b', was: '# C' }, 'cell b was changed meanwhile'],
  ['a move of what is gone', { kind: 'move', cellId: 'z', index: 0 }, 'cell z is gone'],
  [
    'a put over what was changed',
    { kind: 'put', index: 0, was: 'x', cell: { id: 'b', cellType: 'markdown', source: 'y' } },
    'cell b was changed meanwhile'
  ],
  [
    'an id that is taken',
    { kind: 'insert', index: 0, cell: { id: 'b', cellType: 'code', source: '' } },
    'a cell b already'
  ]
])('%s is refused, and nothing of what came before it is made', (_, refused, why) => {
  const model = notebook();
  expect(() => {
    change(model, INSERT, EDIT, refused);
  }).toThrow(why);
  expect(shown(model)).toEqual(START);
  expect(model.undoManager.canUndo()).toBe(false);
});

test('a running cell cannot be moved or deleted, but its source can be edited', () => {
  const cells: CellOutline[] = [
    { id: 'a', cellType: 'code', source: 's', running: true },
    { id: 'b', cellType: 'code', source: 't' }
  ];
  for (const change of [
    { kind: 'delete', cellId: 'a', was: 's' },
    { kind: 'move', cellId: 'a', index: 1 },
    { kind: 'put', index: 0, cell: { id: 'a', cellType: 'code', source: 'u' } }
  ] as NotebookChange[]) {
    expect(() => planSteps(cells, [change])).toThrow('cell a is running');
  }
  expect(planSteps(cells, [{ kind: 'edit', cellId: 'a', was: 's', source: 'u' }])).toHaveLength(1);
});

test('a cell whose metadata forbids editing or deleting is left alone', () => {
  const cells: CellOutline[] = [{ id: 'a', cellType: 'code', source: 's', editable: false, deletable: false }];
  expect(() => planSteps(cells, [{ kind: 'edit', cellId: 'a', was: 's', source: 'u' }])).toThrow(Refusal);
  expect(() => planSteps(cells, [{ kind: 'delete', cellId: 'a', was: 's' }])).toThrow(Refusal);
});

test('all changes together are one step to undo, and one to redo', () => {
  const model = notebook();
  change(model, EDIT, INSERT, EDIT_C, { kind: 'move', cellId: 'b', index: 0 });
  const after = shown(model);
  model.undo();
  expect(shown(model)).toEqual(START);
  expect(model.canUndo()).toBe(false);
  model.redo();
  expect(shown(model)).toEqual(after);
});

test('what the user does right before and right after are separate steps', () => {
  const model = notebook();
  model.insertCell(3, { cell_type: 'code', id: 'u', source: 'mine' });
  change(model, EDIT);
  model.insertCell(4, { cell_type: 'code', id: 'v', source: 'also mine' });
  model.undo();
  expect(shown(model)).toEqual(['a:print(2)', 'b:# B', 'c:x = 1\ny = 2', 'u:mine']);
  model.undo();
  expect(shown(model)).toEqual([...START, 'u:mine']);
  model.undo();
  expect(shown(model)).toEqual(START);
});

test('Ctrl+Z in an edited cell undoes the edit of that cell', () => {
  const model = notebook();
  const typed = cell(model, 'a');
  typed.setSource('print(1) ');
  change(model, { ...EDIT, was: 'print(1) ' }, EDIT_C);
  typed.undo();
  expect(shown(model)).toEqual(['a:print(1) ', 'b:# B', 'c:x = 1\ny = 3']);
  typed.undo();
  expect(shown(model)).toEqual(['a:print(1)', 'b:# B', 'c:x = 1\ny = 3']);
});

test('a step that is undone in a cell is not undone again in the notebook, nor the other way round', () => {
  const first = notebook();
  change(first, EDIT, EDIT_C);
  cell(first, 'a').undo();
  first.undo();
  expect(shown(first)).toEqual(START);
  const second = notebook();
  change(second, EDIT, EDIT_C);
  second.undo();
  cell(second, 'a').undo();
  expect(shown(second)).toEqual(START);
});

type Hand = (model: YNotebook) => void;
const inCell: Record<'undo' | 'redo', Hand> = { undo: m => cell(m, 'a').undo(), redo: m => cell(m, 'a').redo() };
const inAll: Record<'undo' | 'redo', Hand> = { undo: m => m.undo(), redo: m => m.redo() };

test.each<[string, NotebookChange[][]]>([
  ['an edit of one cell', [[EDIT]]],
  ['two edits of one cell', [[EDIT], [{ ...EDIT, was: 'print(2)', source: 'print(3)' }]]],
  ['an edit of two cells', [[EDIT, EDIT_C]]],
  ['an edit of a cell and of the list of cells', [[EDIT, INSERT]]]
])(
  'no order of undoing and doing again loses text: %s',
  (_, edits) => {
    const hands = [inCell.undo, inCell.redo, inAll.undo, inAll.redo];
    for (let order = 0; order < 4 ** 4; order++) {
      const model = notebook();
      for (const changes of edits) {
        change(model, ...changes);
      }
      for (let left = order, n = 0; n < 4; n++, left = Math.floor(left / 4)) {
        hands[left % 4]?.(model);
        expect(['print(1)', 'print(2)', 'print(3)']).toContain(cell(model, 'a').source);
      }
      while (cell(model, 'a').canUndo() || model.canUndo()) {
        inCell.undo(model);
        inAll.undo(model);
      }
      expect(shown(model)).toEqual(START);
      model.dispose();
    }
    // 256 orders take seconds on a busy machine, and vitest's own limit is 5 s.
  },
  60_000
);

test('an edit that changes nothing removes no step of the user', () => {
  const model = notebook();
  cell(model, 'a').setSource('mine');
  change(model, INSERT, { ...EDIT, was: 'mine', source: 'mine' });
  model.undo();
  cell(model, 'a').undo();
  expect(shown(model)).toEqual(START);
});

test('other cells and later work of the notebook stay out of a cell’s history', () => {
  const model = notebook();
  change(model, EDIT);
  model.transact(() => {
    cell(model, 'a').setSource('by Lab');
  });
  cell(model, 'c').undo();
  expect(shown(model)).toEqual(['a:by Lab', 'b:# B', 'c:x = 1\ny = 2']);
  model.undo();
  expect(cell(model, 'a').source).toBe('print(2)');
});

test('an edit leaves alone the text that stays the same', () => {
  const model = notebook();
  const heard: unknown[] = [];
  cell(model, 'c').changed.connect((_, { sourceChange }) => heard.push(sourceChange));
  change(model, EDIT_C);
  expect(heard).toEqual([[{ retain: 10 }, { insert: '3' }, { delete: 1 }]]);
});

test.each([
  ['🙂', '🙃'],
  ['a🙂b', 'a🙃b'],
  ['🙂🙂', '🙂'],
  ['x🙂', '🙂y']
])('characters of two units are never halved: %s to %s', (was, source) => {
  const model = notebook();
  cell(model, 'b').setSource(was);
  change(model, { kind: 'edit', cellId: 'b', was, source });
  const copy = new YNotebook();
  expect(cell(model, 'b').source).toBe(source);
  expect(JSON.parse(JSON.stringify(model.toJSON()))).toBeDefined();
  copy.dispose();
});

const WHOLE: NotebookCell = {
  id: 'a',
  cellType: 'code',
  source: 'print(1)',
  metadata: { tags: ['t'] },
  executionCount: 3,
  outputs: [OUTPUT]
};

test('a cell that is put back gets its outputs, count and metadata back, in one step', () => {
  const model = notebook();
  change(model, { kind: 'edit', cellId: 'a', was: 'print(1)', source: 'boom' });
  cell(model, 'a').deleteMetadata('tags');
  cell(model, 'a').setMetadata({ other: true });
  (cell(model, 'a') as ReturnType<YNotebook['addCell']> & { outputs: unknown[] }).outputs = [];
  change(model, { kind: 'put', index: 2, cell: WHOLE, was: 'boom' });
  expect(shown(model)).toEqual(START);
  expect(toNotebookCell(cell(model, 'a'))).toEqual(WHOLE);
  model.undo();
  expect(toNotebookCell(cell(model, 'a'))).toEqual({
    ...WHOLE,
    source: 'boom',
    metadata: { other: true },
    outputs: []
  });
});

test('a cell that was deleted is put back with its outputs', () => {
  const model = notebook();
  change(model, { kind: 'delete', cellId: 'a', was: 'print(1)' });
  change(model, { kind: 'put', index: 0, cell: WHOLE });
  expect(shown(model)).toEqual(START);
  expect(toNotebookCell(cell(model, 'a'))).toEqual(WHOLE);
});

test('a cell whose type has changed is replaced by the cell that is put back', () => {
  const model = notebook();
  change(model, { kind: 'put', index: 0, cell: { id: 'b', cellType: 'code', source: 'b()' } });
  expect(shown(model)).toEqual(['a:print(1)', 'b:b()', 'c:x = 1\ny = 2']);
  expect(cell(model, 'b').cell_type).toBe('code');
});

test('a converted cell has no fields that its type does not have', () => {
  const model = notebook();
  expect(toNotebookCell(cell(model, 'b'))).toEqual({ id: 'b', cellType: 'markdown', source: '# B', metadata: {} });
  expect(toNotebookCell(cell(model, 'c'), 'never-run')).toEqual({
    id: 'c',
    cellType: 'code',
    source: 'x = 1\ny = 2',
    metadata: {},
    outputs: [],
    state: 'never-run'
  });
});

test('a text cell that was deleted is put back with its pictures', () => {
  const model = notebook();
  const picture = { 'a.png': { 'image/png': 'iVBORw==' } };
  const b: NotebookCell = { id: 'b', cellType: 'markdown', source: '# B', metadata: {}, attachments: picture };
  change(model, { kind: 'delete', cellId: 'b', was: '# B' });
  change(model, { kind: 'put', index: 1, cell: b });
  expect(shown(model)).toEqual(START);
  expect(toNotebookCell(cell(model, 'b'))).toEqual(b);
});

test('a cell comes directly behind the cell that was shown, wherever that is by now', () => {
  const model = notebook();
  change(model, { kind: 'insert', index: 0, after: 'b', cell: { id: 'new', cellType: 'code', source: 'new' } });
  expect(model.cells.map(({ id }) => id)).toEqual(['a', 'b', 'new', 'c']);
  change(model, { kind: 'insert', index: 9, after: '', cell: { id: 'top', cellType: 'code', source: 'top' } });
  change(model, { kind: 'move', cellId: 'a', index: 0, after: 'c' });
  expect(model.cells.map(({ id }) => id)).toEqual(['top', 'b', 'new', 'c', 'a']);
});

test('a cell is put nowhere when the cell is gone that it was to stand behind', () => {
  const model = notebook();
  const cell = { id: 'new', cellType: 'code', source: 'new' } as const;
  expect(() => {
    change(model, { kind: 'insert', index: 0, after: 'gone', cell });
  }).toThrow('cell gone is gone, after which the cell was to be placed');
  expect(model.cells.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
});

test('a cell that the assistant has written is marked if that is wanted, and undoing the edit takes the mark away', () => {
  const model = notebook();
  change(
    model,
    { kind: 'edit', cellId: 'a', was: 'print(1)', source: 'print(2)', marks: true },
    { kind: 'insert', index: 1, cell: { id: 'n', cellType: 'code', source: 'new' }, marks: true },
    { kind: 'edit', cellId: 'c', was: 'x = 1\ny = 2', source: 'x = 1' }
  );
  expect(model.cells.map(cell => cell.getMetadata('jupyter_eca'))).toEqual([
    { written: true },
    { written: true },
    undefined,
    undefined
  ]);
  expect(model.cells[0]?.getMetadata('tags')).toEqual(['t']);
  const before = { id: 'a', cellType: 'code', source: 'print(1)', metadata: { tags: ['t'] } } as NotebookCell;
  change(model, { kind: 'put', index: 0, cell: before, was: 'print(2)' });
  expect(model.cells[0]?.getMetadata('jupyter_eca')).toBeUndefined();
});
