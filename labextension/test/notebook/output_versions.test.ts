/** The answers of a page leave out the outputs that the server has. */

import { YCodeCell, YNotebook } from '@jupyter/ydoc';
import { beforeEach, expect, test, vi } from 'vitest';

import { OUTPUTS_PER_ANSWER, OutputVersions } from '../../src/notebook/output_versions';
import { NotebookCell } from '../../src/wire/protocol';

// Yjs says this of each cell that Lab's own `createCell` makes.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(text => {
    expect(text).toMatch(/before reading data|Not same Y.Doc/);
  });
});

const NO_STATES = new Map();

function stream(text: string): Parameters<YCodeCell['setOutputs']>[0][number] {
  return { output_type: 'stream', name: 'stdout', text };
}

/** A notebook of code cells with these texts as outputs, and a heading. Their ids are `c0`, `c1` and so on. */
function notebook(...texts: string[]): YNotebook {
  const code = texts.map((text, index) => ({
    id: `c${String(index)}`,
    cell_type: 'code',
    source: '',
    metadata: {},
    outputs: text === '' ? [] : [stream(text)],
    execution_count: null
  }));
  const heading = { id: 'heading', cell_type: 'markdown', source: '# A', metadata: {} };
  const data = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [...code, heading] };
  return YNotebook.create({ data: data as unknown as Parameters<YNotebook['fromJSON']>[0] });
}

function codeCell(model: YNotebook, id: string): YCodeCell {
  return model.cells.find(cell => cell.id === id) as YCodeCell;
}

/** The ids of the cells whose outputs are in the answer. */
function sentIds(cells: readonly NotebookCell[]): string[] {
  return cells.flatMap(({ id, outputs }) => (outputs === undefined ? [] : [id]));
}

test('the first answer has all outputs, and the next one none', () => {
  const model = notebook('one', '', 'two');
  const versions = new OutputVersions();
  const first = versions.convertCells(model.cells, NO_STATES, 0);
  expect(first.cells.map(({ outputs }) => outputs)).toEqual([[stream('one')], [], [stream('two')], undefined]);
  const second = versions.convertCells(model.cells, NO_STATES, first.outputsVersion);
  expect(sentIds(second.cells)).toEqual([]);
  expect(second.cells.map(({ outputsVersion }) => outputsVersion)).toEqual(
    first.cells.map(({ outputsVersion }) => outputsVersion)
  );
});

test.each<[string, (cell: YCodeCell) => void]>([
  [
    'a stream gets text',
    cell => {
      cell.appendStreamOutput(0, ' more');
    }
  ],
  [
    'text of a stream is removed',
    cell => {
      cell.removeStreamOutput(0, 1);
    }
  ],
  [
    'all outputs are replaced',
    cell => {
      cell.setOutputs([stream('new')]);
    }
  ],
  [
    'one output is replaced',
    cell => {
      cell.updateOutputs(0, 1, [stream('new')]);
    }
  ],
  [
    'the outputs are cleared',
    cell => {
      cell.clearOutputs();
    }
  ]
])('outputs are sent again when %s', (_change, change) => {
  const model = notebook('one', 'two');
  const versions = new OutputVersions();
  const { outputsVersion } = versions.convertCells(model.cells, NO_STATES, 0);
  change(codeCell(model, 'c1'));
  const answer = versions.convertCells(model.cells, NO_STATES, outputsVersion);
  expect(sentIds(answer.cells)).toEqual(['c1']);
  expect(answer.cells[1]?.outputs).toEqual(codeCell(model, 'c1').outputs);
  expect(sentIds(versions.convertCells(model.cells, NO_STATES, answer.outputsVersion).cells)).toEqual([]);
});

test('an edit of the source or of the metadata sends no outputs', () => {
  const model = notebook('one');
  const versions = new OutputVersions();
  const { outputsVersion } = versions.convertCells(model.cells, NO_STATES, 0);
  const cell = codeCell(model, 'c0');
  cell.setSource('x = 1');
  cell.setMetadata('tags', ['a']);
  cell.execution_count = 2;
  expect(sentIds(versions.convertCells(model.cells, NO_STATES, outputsVersion).cells)).toEqual([]);
});

test('a cell that is new or was moved is sent with its outputs', () => {
  const model = notebook('one', 'two');
  const versions = new OutputVersions();
  const { outputsVersion } = versions.convertCells(model.cells, NO_STATES, 0);
  model.moveCell(0, 1);
  expect(sentIds(versions.convertCells(model.cells, NO_STATES, outputsVersion).cells)).toEqual(['c0']);
});

test('an answer has no more outputs than it has room for, and the others are read one after the other', () => {
  const half = 'x'.repeat(Math.ceil(OUTPUTS_PER_ANSWER / 2));
  const model = notebook('small', half, half, 'small', 'x'.repeat(OUTPUTS_PER_ANSWER * 2));
  const versions = new OutputVersions();
  const { cells } = versions.convertCells(model.cells, NO_STATES, 0);
  expect(sentIds(cells)).toEqual(['c0', 'c1', 'c3']);
  const answer = versions.readOutputs(model.cells, ['c2', 'c4']);
  expect(answer.map(({ id }) => id)).toEqual(['c2']);
  expect(answer[0]?.outputsVersion).toBe(cells[2]?.outputsVersion);
  // A cell that has more than there is room for is sent alone.
  expect(versions.readOutputs(model.cells, ['c4']).map(({ id }) => id)).toEqual(['c4']);
});

test('a cell that is gone has no outputs', () => {
  const model = notebook('one');
  const gone = { id: 'gone', outputs: [], outputsVersion: 0 };
  expect(new OutputVersions().readOutputs(model.cells, ['gone', 'heading'])).toEqual([
    gone,
    { ...gone, id: 'heading' }
  ]);
});
