/** The order of the changes in a notebook, and which of them comes next. */

import { expect, test } from 'vitest';

import type { Note } from '../../src/review/notes';
import { findStop, isStopLeftOut, listStops, Stop } from '../../src/review/change_stops';

function note(key: string, isBelowAnchor = false): Note {
  const owner = { kind: 'changes' as const, chatId: 'c', changes: [], isSettled: false };
  return { kind: 'insert', key, owner, anchorId: key, isBelowAnchor };
}

// A deleted cell below cell 4, an edit with two hunks in cell 1, and a moved cell 4.
const STOPS = listStops([
  { note: note('deleted', true), cellIndex: 4, hunks: undefined },
  {
    note: note('edited'),
    cellIndex: 1,
    hunks: [
      { id: 7, from: 30 },
      { id: 5, from: 2 }
    ]
  },
  { note: note('moved'), cellIndex: 4, hunks: undefined }
]);

const names = (stops: readonly Stop[]): readonly string[] =>
  stops.map(({ note, hunkId = '' }) => `${note.key}${String(hunkId)}`);

test('the stops go from the top of the notebook to its end', () => {
  expect(names(STOPS)).toEqual(['edited5', 'edited7', 'moved', 'deleted']);
});

test('without a stop before, the next one is the first in the active cell or below it', () => {
  expect(findStop(STOPS, { cellIndex: 0 }, 1)).toBe(0);
  expect(findStop(STOPS, { cellIndex: 1 }, 1)).toBe(0);
  expect(findStop(STOPS, { cellIndex: 2 }, 1)).toBe(2);
  expect(findStop(STOPS, { cellIndex: 2 }, -1)).toBe(1);
  expect(findStop(STOPS, { cellIndex: 9 }, 1)).toBe(0);
  expect(findStop([], { cellIndex: 0 }, 1)).toBeUndefined();
});

test('the stops are gone through one by one, and begin again after the last', () => {
  const from = (index: number) => {
    const stop = STOPS[index];
    return stop && { stop, index };
  };
  expect(findStop(STOPS, { lastShown: from(0), cellIndex: 1 }, 1)).toBe(1);
  expect(findStop(STOPS, { lastShown: from(3), cellIndex: 4 }, 1)).toBe(0);
  expect(findStop(STOPS, { lastShown: from(0), cellIndex: 1 }, -1)).toBe(3);
  // The user has gone to another cell.
  expect(findStop(STOPS, { lastShown: from(0), cellIndex: 3 }, 1)).toBe(2);
});

test('after a stop that was decided comes the one that has taken its place', () => {
  const [, decided] = STOPS;
  const lastShown = decided && { stop: decided, index: 1 };
  const left = STOPS.filter(stop => stop !== decided);
  expect(names(left)).toEqual(['edited5', 'moved', 'deleted']);
  expect(findStop(left, { lastShown, cellIndex: 1 }, 1)).toBe(1);
  expect(findStop(left, { lastShown, cellIndex: 1 }, -1)).toBe(0);
});

test('a hunk or a move that the user leaves out of a call is known as such, and nothing of another change', () => {
  const call = { kind: 'call' as const, chatId: 'c', id: 't', changeCount: 2, runsCells: false, leftOut: [1, 2] };
  const parts = [0, 1].map(index => ({ index, start: 0, end: 0, text: '' }));
  const content = { key: 'k', anchorId: 'a', isBelowAnchor: false };
  const edited: Note = { ...content, kind: 'edit', base: '', otherText: 'x', owner: { ...call, parts } };
  const moved: Note = { ...content, kind: 'move', from: 1, to: 2, owner: { ...call, movePart: 2 } };
  const inserted: Note = { ...content, kind: 'insert', owner: call };
  const hunks = [0, 1].map(id => ({ id, from: id }));
  const stops = listStops([
    { note: edited, cellIndex: 0, hunks },
    { note: moved, cellIndex: 1, hunks: undefined },
    { note: inserted, cellIndex: 2, hunks: undefined },
    { note: note('made'), cellIndex: 3, hunks: [{ id: 1, from: 0 }] }
  ]);
  expect(stops.map(isStopLeftOut)).toEqual([false, true, true, false, false]);
});
