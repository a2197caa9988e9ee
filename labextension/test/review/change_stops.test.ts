/** The order of the changes in a notebook, and which of them comes next. */

import { expect, test } from 'vitest';

import type { Note } from '../../src/review/notes';
import { findStop, listStops, Stop } from '../../src/review/change_stops';

function note(key: string, below = false): Note {
  const owner = { kind: 'changes' as const, chatId: 'c', changes: [], settled: false };
  return { kind: 'insert', key, owner, anchor: key, below };
}

// A deleted cell below cell 4, an edit with two hunks in cell 1, and a moved cell 4.
const STOPS = listStops([
  { note: note('deleted', true), cell: 4, hunks: undefined },
  {
    note: note('edited'),
    cell: 1,
    hunks: [
      { id: 7, from: 30 },
      { id: 5, from: 2 }
    ]
  },
  { note: note('moved'), cell: 4, hunks: undefined }
]);

const names = (stops: readonly Stop[]): readonly string[] =>
  stops.map(({ note, hunk = '' }) => `${note.key}${String(hunk)}`);

test('the stops go from the top of the notebook to its end', () => {
  expect(names(STOPS)).toEqual(['edited5', 'edited7', 'moved', 'deleted']);
});

test('without a stop before, the next one is the first in the active cell or below it', () => {
  expect(findStop(STOPS, { cell: 0 }, 1)).toBe(0);
  expect(findStop(STOPS, { cell: 1 }, 1)).toBe(0);
  expect(findStop(STOPS, { cell: 2 }, 1)).toBe(2);
  expect(findStop(STOPS, { cell: 2 }, -1)).toBe(1);
  expect(findStop(STOPS, { cell: 9 }, 1)).toBe(0);
  expect(findStop([], { cell: 0 }, 1)).toBeUndefined();
});

test('the stops are gone through one by one, and begin again after the last', () => {
  const from = (index: number) => {
    const stop = STOPS[index];
    return stop && { stop, index };
  };
  expect(findStop(STOPS, { last: from(0), cell: 1 }, 1)).toBe(1);
  expect(findStop(STOPS, { last: from(3), cell: 4 }, 1)).toBe(0);
  expect(findStop(STOPS, { last: from(0), cell: 1 }, -1)).toBe(3);
  // The user has gone to another cell.
  expect(findStop(STOPS, { last: from(0), cell: 3 }, 1)).toBe(2);
});

test('after a stop that was decided comes the one that has taken its place', () => {
  const [, decided] = STOPS;
  const last = decided && { stop: decided, index: 1 };
  const left = STOPS.filter(stop => stop !== decided);
  expect(names(left)).toEqual(['edited5', 'moved', 'deleted']);
  expect(findStop(left, { last, cell: 1 }, 1)).toBe(1);
  expect(findStop(left, { last, cell: 1 }, -1)).toBe(0);
});
