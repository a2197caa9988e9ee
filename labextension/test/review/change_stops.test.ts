/** The order of the changes in a notebook, and which of them comes next. */

import { expect, test } from 'vitest';

import type { Note } from '../../src/review/notes';
import { findStep, listSteps, Step } from '../../src/review/change_stops';

function note(key: string, below = false): Note {
  const owner = { kind: 'changes' as const, chatId: 'c', changes: [], settled: false };
  return { kind: 'insert', key, owner, anchor: key, below };
}

// A deleted cell below cell 4, an edit with two hunks in cell 1, and a moved cell 4.
const STEPS = listSteps([
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

const names = (steps: readonly Step[]): readonly string[] =>
  steps.map(({ note, hunk = '' }) => `${note.key}${String(hunk)}`);

test('the steps go from the top of the notebook to its end', () => {
  expect(names(STEPS)).toEqual(['edited5', 'edited7', 'moved', 'deleted']);
});

test('without a step before, the next one is the first in the active cell or below it', () => {
  expect(findStep(STEPS, { cell: 0 }, 1)).toBe(0);
  expect(findStep(STEPS, { cell: 1 }, 1)).toBe(0);
  expect(findStep(STEPS, { cell: 2 }, 1)).toBe(2);
  expect(findStep(STEPS, { cell: 2 }, -1)).toBe(1);
  expect(findStep(STEPS, { cell: 9 }, 1)).toBe(0);
  expect(findStep([], { cell: 0 }, 1)).toBeUndefined();
});

test('the steps are gone through one by one, and begin again after the last', () => {
  const from = (index: number) => {
    const step = STEPS[index];
    return step && { step, index };
  };
  expect(findStep(STEPS, { last: from(0), cell: 1 }, 1)).toBe(1);
  expect(findStep(STEPS, { last: from(3), cell: 4 }, 1)).toBe(0);
  expect(findStep(STEPS, { last: from(0), cell: 1 }, -1)).toBe(3);
  // The user has gone to another cell.
  expect(findStep(STEPS, { last: from(0), cell: 3 }, 1)).toBe(2);
});

test('after a step that was decided comes the one that has taken its place', () => {
  const [, decided] = STEPS;
  const last = decided && { step: decided, index: 1 };
  const left = STEPS.filter(step => step !== decided);
  expect(names(left)).toEqual(['edited5', 'moved', 'deleted']);
  expect(findStep(left, { last, cell: 1 }, 1)).toBe(1);
  expect(findStep(left, { last, cell: 1 }, -1)).toBe(0);
});
