/** The parts of edits of several cells are drawn in their cells. The Python tests run the same cases. */

import { YNotebook } from '@jupyter/ydoc';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';

import { CellDiff } from '../../src/review/cell_diff';
import { countParts, ToolBlock } from '../../src/chat/blocks';
import { createChat } from '../../src/chat/state';
import { listNotes } from '../../src/review/notes';
import { ChangePart, FileChangeDetails, MovePart } from '../../src/wire/protocol';

interface Case {
  readonly name: string;
  readonly cells: readonly { readonly id: string; readonly was: string; readonly source: string }[];
  readonly parts: readonly ChangePart[];
  readonly leftOut: readonly number[];
  readonly remaining: readonly (string | null)[];
}

const FILE = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures', 'change_parts.json');
const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as { readonly cases: readonly Case[] };

beforeEach(() => {
  // Yjs says this of each cell that Lab's own `createCell` makes.
  vi.spyOn(console, 'warn').mockImplementation(text => {
    expect(text).toMatch(/before reading data|Not same Y.Doc/);
  });
});

/** A call that waits, with these parts, of which some are left out. */
function waitingCall(
  cells: NonNullable<FileChangeDetails['cells']>,
  parts: readonly (ChangePart | MovePart)[],
  leftOut: readonly number[]
): ToolBlock {
  return {
    kind: 'tool',
    key: 'b',
    id: 't',
    name: 'notebook_change',
    server: 'ECA',
    origin: 'native',
    status: 'waiting',
    argumentsText: '',
    outputs: [],
    details: { type: 'fileChange', path: 'nb.ipynb', diff: '', linesAdded: 1, linesRemoved: 1, cells, parts },
    leftOut
  };
}

/** A cell of a notebook with this source. */
function createCell(source: string): YNotebook['cells'][number] {
  const cells = [{ id: 'a', cell_type: 'raw' as const, source, metadata: {} }];
  const [cell] = YNotebook.create({ data: { nbformat: 4, nbformat_minor: 5, metadata: {}, cells } }).cells;
  if (cell === undefined) {
    throw new Error('no cell');
  }
  return cell;
}

const asEdit = ({ id, was, source }: Case['cells'][number]) => ({ kind: 'edit' as const, cellId: id, was, source });

test.each(cases)('the parts that are drawn make what remains: $name', ({ cells, parts, leftOut, remaining }) => {
  const block = waitingCall(cells.map(asEdit), parts, leftOut);
  const chat = { ...createChat('c'), status: 'running' as const, blocks: [block] };
  const now = cells.map(({ id, was }) => ({ id, source: was }));
  const notes = listNotes('nb.ipynb', now, [chat]);
  expect(notes.map(({ anchorId }) => anchorId)).toEqual(cells.map(({ id }) => id));
  notes.forEach(({ owner }, n) => {
    const { was = '' } = cells[n] ?? {};
    const diff = new CellDiff(createCell(was), 'proposed', () => undefined);
    diff.showParts(was, owner.kind === 'call' ? (owner.parts ?? []) : []);
    const kept = diff.hunks.filter(({ id }) => !leftOut.includes(id));
    // The last one first, so that the offsets of the others stay right.
    const made = [...kept]
      .reverse()
      .reduce((text, { from, to, otherText }) => text.slice(0, from) + otherText + text.slice(to), was);
    expect(made).toBe(remaining[n] ?? was);
  });
});

test('a change of which no part is approved may still do something else', () => {
  const edit = asEdit({ id: 'a', was: 'x', source: 'y' });
  const insert = { kind: 'insert' as const, index: 1, cell: { id: 'n', cellType: 'code' as const, source: 'n' } };
  const part = { cellId: 'a', start: 0, end: 1, text: 'y' };
  expect(countParts(waitingCall([edit, insert], [part], []))).toBeUndefined();
  expect(countParts(waitingCall([edit, insert], [part], [0]))).toEqual({ kept: 0, all: 1, changesSomething: true });
  const other = asEdit({ id: 'b', was: 'x', source: 'y' });
  const parts = [part, { ...part, cellId: 'b' }];
  expect(countParts(waitingCall([edit, other], parts, [0, 1]))).toEqual({ kept: 0, all: 2, changesSomething: false });
  expect(countParts(waitingCall([edit, other], parts, [1]))).toEqual({ kept: 1, all: 2, changesSomething: true });
});

test('a cell that is moved and edited twice has a note for the move and one for both edits', () => {
  const move = { kind: 'move' as const, cellId: 'b', index: 0, after: '' };
  const cells = [
    asEdit({ id: 'b', was: 'x\ny', source: 'X\ny' }),
    move,
    asEdit({ id: 'b', was: 'X\ny', source: 'X\nY' })
  ];
  const parts: readonly (ChangePart | MovePart)[] = [
    { cellId: 'b', start: 0, end: 2, text: 'X\n' },
    { cellId: 'b', start: 2, end: 3, text: 'Y' },
    { kind: 'move', cellId: 'b' }
  ];
  const now = [
    { id: 'a', source: '' },
    { id: 'b', source: 'x\ny' }
  ];
  const list = (leftOut: readonly number[]): ReturnType<typeof listNotes> =>
    listNotes('nb.ipynb', now, [
      { ...createChat('c'), status: 'running' as const, blocks: [waitingCall(cells, parts, leftOut)] }
    ]);
  expect(list([2])).toMatchObject([
    {
      kind: 'edit',
      anchorId: 'b',
      base: 'x\ny',
      otherText: 'X\nY',
      owner: { parts: [{ index: 0 }, { index: 1 }], leftOut: [2], changeCount: 3 }
    },
    { kind: 'move', anchorId: 'b', from: 2, to: 1, owner: { movePart: 2, leftOut: [2], changeCount: 3 } }
  ]);
  expect(list([])[0]?.owner).not.toHaveProperty('movePart', 2);
  expect(countParts(waitingCall(cells, parts, [0, 1]))).toEqual({ kept: 1, all: 3, changesSomething: true });
  expect(countParts(waitingCall(cells, parts, [0, 1, 2]))).toEqual({ kept: 0, all: 3, changesSomething: false });
});
