/** The notes of a notebook, and the hunks of a cell while it is edited. */

import { YNotebook } from '@jupyter/ydoc';
import { beforeEach, expect, test, vi } from 'vitest';

import { Blocks, setLeftOut } from '../../src/chat/blocks';
import { CellDiff } from '../../src/review/cell_diff';
import type { Change } from '../../src/chat/types';
import { applySteps } from '../../src/notebook/live_cells';
import { FileChangeDetails } from '../../src/wire/protocol';
import { TabStorage } from '../../src/chat/tab_storage';
import { listNotes } from '../../src/review/notes';
import { Chat, createChat } from '../../src/chat/state';

// Yjs says this of each cell that Lab's own `createCell` makes.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(text => {
    expect(text).toMatch(/before reading data|Not same Y.Doc/);
  });
});

const CELLS = [
  { id: 'a', source: 'x = 1' },
  { id: 'b', source: 'y = 2' }
];

function waiting(...calls: NonNullable<FileChangeDetails['cells']>[]): Chat {
  const blocks: Blocks = calls.map((cells, n) => ({
    kind: 'tool',
    key: `b${String(n)}`,
    id: `t${String(n)}`,
    name: 'notebook_edit_cell',
    server: 'ECA',
    origin: 'native',
    status: 'waiting',
    argumentsText: '',
    outputs: [],
    details: { type: 'fileChange', path: 'nb.ipynb', diff: '', linesAdded: 1, linesRemoved: 1, cells }
  }));
  return { ...createChat('c'), status: 'running', blocks };
}

function changed(id: string, cellId: string, before?: string, after?: string, placeBefore?: number): Change {
  const text = { diff: '', linesAdded: 0, linesRemoved: 0, ...(before !== undefined && { before }) };
  return {
    id,
    number: 1,
    turn: 't',
    path: 'nb.ipynb',
    type: 'cell',
    kind: 'edited',
    cellId,
    cellType: 'code',
    text: { ...text, ...(after !== undefined && { after }) },
    ...(placeBefore !== undefined && { placeBefore })
  };
}

function without(note: object, ...keys: readonly string[]): unknown {
  return Object.fromEntries(Object.entries(note).filter(([key]) => !keys.includes(key)));
}

function notes(chat: Partial<Chat>, path = 'nb.ipynb'): unknown[] {
  return listNotes(path, CELLS, [{ ...createChat('c'), ...chat }]).map(note => without(note, 'key', 'owner'));
}

test('a waiting call is shown in its cell, or where its cell would be; of two calls about one cell, the first is shown', () => {
  const chat = waiting(
    [{ kind: 'edit', cellId: 'a', was: 'x = 1', source: 'x = 2' }],
    [{ kind: 'edit', cellId: 'a', was: 'x = 2', source: 'x = 3' }],
    [{ kind: 'insert', index: 1, cell: { id: 'n', cellType: 'code', source: 'n' } }],
    [{ kind: 'insert', index: 9, cell: { id: 'o', cellType: 'code', source: 'o' } }],
    [{ kind: 'move', cellId: 'b', index: 0 }],
    [{ kind: 'delete', cellId: 'gone', was: '' }]
  );
  expect(notes(chat)).toEqual([
    { kind: 'edit', base: 'x = 1', otherText: 'x = 2', anchorId: 'a', isBelowAnchor: false },
    { kind: 'insert', source: 'n', anchorId: 'b', isBelowAnchor: false },
    { kind: 'insert', source: 'o', anchorId: 'b', isBelowAnchor: true },
    { kind: 'move', from: 2, to: 1, anchorId: 'b', isBelowAnchor: false }
  ]);
  expect(notes(chat, 'other.ipynb')).toEqual([]);
  expect(notes({ ...chat, status: 'idle' })).toEqual([]);
});

test('a waiting call says in its cell what the page would load', () => {
  const chat = waiting([{ kind: 'edit', cellId: 'a', was: 'x = 1', source: '![](https://example.org/a)' }]);
  const loads = 'https://example.org/a';
  const blocks = chat.blocks.map(block =>
    block.kind === 'tool' && block.details?.type === 'fileChange'
      ? { ...block, details: { ...block.details, loads } }
      : block
  );
  expect(listNotes('nb.ipynb', CELLS, [{ ...chat, blocks }])).toMatchObject([{ owner: { kind: 'call', loads } }]);
});

test('the changes of a cell are shown as one change, as far back as nobody else edited the cell', () => {
  const whole = [changed('1', 'a', 'x = 0', 'x = 0.5'), changed('2', 'a', 'x = 0.5', 'x = 1')];
  expect(notes({ changes: whole })).toEqual([
    { kind: 'edit', base: 'x = 1', otherText: 'x = 0', anchorId: 'a', isBelowAnchor: false }
  ]);
  const parted = [changed('1', 'a', 'x = 0', 'x = 0.5'), changed('2', 'a', 'x = 0.7', 'x = 1')];
  expect(notes({ changes: parted })).toMatchObject([{ base: 'x = 1', otherText: 'x = 0.7' }]);
  const written = { ...changed('1', 'a', 'x = 0', 'x = 1 and mine'), left: 'x = 1' };
  expect(notes({ changes: [written] })).toMatchObject([{ base: 'x = 1', otherText: 'x = 0' }]);
  const others = [
    changed('1', 'b', undefined, 'y = 2'),
    changed('2', 'gone', 'g', undefined, 2),
    changed('3', 'a', 'x = 1', 'x = 1', 2)
  ];
  expect(notes({ changes: others })).toEqual([
    { kind: 'insert', anchorId: 'b', isBelowAnchor: false },
    { kind: 'delete', source: 'g', anchorId: 'b', isBelowAnchor: false },
    { kind: 'move', from: 2, to: 1, anchorId: 'a', isBelowAnchor: false }
  ]);
});

/** A cell in Lab's model, and what is to be decided about it. */
function cell(source: string): [YNotebook['cells'][number], CellDiff] {
  const model = YNotebook.create({
    disableDocumentWideUndoRedo: true,
    data: { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [{ id: 'a', cell_type: 'raw', source, metadata: {} }] }
  });
  model.clearUndoHistory();
  const [there] = model.cells;
  if (there === undefined) {
    throw new Error('no cell');
  }
  const write = (source: string): void => {
    applySteps(model, [{ kind: 'source', id: 'a', source }]);
  };
  return [there, new CellDiff(there, 'made', write)];
}

test('typing moves the hunks along; a decision is one step to undo, and undoing it opens the hunk again', () => {
  const [there, diff] = cell('A\nb\nC');
  diff.compare('A\nb\nC', 'a\nb\nc');
  there.updateSource(2, 2, 'new\n');
  expect(diff.hunks.map(({ from }) => from)).toEqual([0, 8]);
  diff.apply(1);
  expect(there.getSource()).toBe('A\nnew\nb\nc');
  there.undo();
  expect(there.getSource()).toBe('A\nnew\nb\nC');
  expect(diff.hunks.map(({ id }) => id)).toEqual([0, 1]);
  diff.drop(0);
  diff.applyAll();
  there.undo();
  expect(diff.hunks.map(({ id }) => id)).toEqual([1]);
});

test('when the text has changed since it was compared, the hunks are those of the present text', () => {
  const [there, diff] = cell('A\nb');
  there.setSource('A\nb and mine');
  diff.compare('A\nb', 'a\nb');
  diff.applyAll();
  expect(there.getSource()).toBe('a\nb and mine');
});

test('a reloaded tab knows which hunks were kept while others of the same change are undecided', () => {
  const stored = new Map<string, string>();
  const store = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key)
  };
  const one = new TabStorage('/one/', () => store);
  one.setKeptHunks('changes c 1', [0, 2]);
  one.setChat('c');
  expect(new TabStorage('/one/', () => store).getKeptHunks('changes c 1')).toEqual([0, 2]);
  expect(new TabStorage('/one/', () => store).getChat()).toBe('c');
  expect(new TabStorage('/two/', () => store).getKeptHunks('changes c 1')).toEqual([]);
  one.setKeptHunks('changes c 1', []);
  expect([...stored.keys()]).toHaveLength(1);
});

test('a browser without storage causes no error', () => {
  const refused = new TabStorage('/', () => {
    throw new DOMException('The operation is insecure.');
  });
  refused.setKeptHunks('changes c 1', [0]);
  refused.setChat('c');
  expect([refused.getKeptHunks('changes c 1'), refused.getChat()]).toEqual([[], undefined]);
});

test('a call that does more than one thing says so at each cell, and shows the last source of a cell', () => {
  const first = { kind: 'edit' as const, cellId: 'a', was: 'x = 1', source: 'x = 2' };
  const second = { kind: 'edit' as const, cellId: 'a', was: 'x = 2', source: 'steal()' };
  expect(listNotes('nb.ipynb', CELLS, [waiting([first, second])])).toMatchObject([
    { kind: 'edit', base: 'x = 1', otherText: 'steal()', owner: { changeCount: 2, runsCells: false } }
  ]);
  expect(listNotes('nb.ipynb', CELLS, [waiting([first])])).toMatchObject([{ owner: { changeCount: 1 } }]);
});

test('the parts of a proposal are those of the server, and one that is left out stays left out', () => {
  const edit = { kind: 'edit' as const, cellId: 'a', was: 'x = 1', source: 'x = 2' };
  const parts = [{ start: 0, end: 5, text: 'x = 2' }];
  const chat = waiting([edit]);
  const blocks = setLeftOut(
    chat.blocks.map(block =>
      block.kind === 'tool' && block.details?.type === 'fileChange'
        ? { ...block, details: { ...block.details, parts } }
        : block
    ),
    't0',
    [0]
  );
  expect(listNotes('nb.ipynb', CELLS, [{ ...chat, blocks }])).toMatchObject([{ owner: { parts, leftOut: [0] } }]);
  const [there] = cell('A\nb\nC');
  const diff = new CellDiff(there, 'proposed', () => undefined);
  diff.showParts('A\nb\nC', [
    { start: 0, end: 2, text: 'a\n', index: 0 },
    { start: 4, end: 5, text: 'c', index: 1 }
  ]);
  there.updateSource(2, 2, 'new\n');
  expect(diff.hunks.map(({ from, to, otherText, isEdited }) => ({ from, to, otherText, isEdited }))).toEqual([
    { from: 0, to: 2, otherText: 'a\n', isEdited: false },
    { from: 8, to: 9, otherText: 'c', isEdited: false }
  ]);
});

test('the parts of a proposal count code points', () => {
  const source = 'x = "😀"\na = 1';
  const [there] = cell(source);
  const diff = new CellDiff(there, 'proposed', () => undefined);
  diff.showParts(source, [{ start: 8, end: 13, text: 'a = 2', index: 0 }]);
  expect(diff.hunks.map(({ from, to }) => source.slice(from, to))).toEqual(['a = 1']);
});

test('a change is settled when nobody need decide about any part of its chain', () => {
  const chain = [changed('1', 'a', 'x = 0', 'x = 0.5'), changed('2', 'a', 'x = 0.5', 'x = 1')];
  const settledIn = (changes: readonly Change[]): unknown =>
    listNotes('nb.ipynb', CELLS, [{ ...createChat('c'), changes }]).map(
      ({ owner }) => owner.kind === 'changes' && owner.isSettled
    );
  expect(settledIn(chain.map(change => ({ ...change, settled: true })))).toEqual([true]);
  expect(settledIn(chain.map((change, n) => ({ ...change, settled: n === 0 })))).toEqual([false]);
});
