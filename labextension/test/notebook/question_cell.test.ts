/** The text of a cell that asks the assistant. */

import { expect, test } from 'vitest';

import { isQuestion, ensureAgentOption, ensureModelOption, readQuestion } from '../../src/notebook/question_cell';

test('a cell with one of the magics is a question', () => {
  expect(['%eca hi', '%%eca\nhi', '\n %eca hi', 'eca', '%ecarl'].map(isQuestion)).toEqual([
    true,
    true,
    true,
    false,
    false
  ]);
});

test.each([
  ['%eca hi', '%eca -m  hi', 8, 8],
  ['%%eca\nhi', '%%eca -m \nhi', 9, 9],
  ['%eca -m far/m hi', '%eca -m far/m hi', 8, 13]
])('the cursor is put where %j names its model', (source, wanted, start, end) => {
  expect(ensureModelOption(source)).toEqual({ source: wanted, start, end });
});

test.each([
  ['%eca hi', '%eca --agent  hi', 13, 13],
  ['%%eca --agent codex\nhi', '%%eca --agent codex\nhi', 14, 19],
  ['%eca -v high -b codex hi', '%eca -v high -b codex hi', 16, 21]
])('the cursor is put where %j names its agent', (source, wanted, start, end) => {
  expect(ensureAgentOption(source)).toEqual({ source: wanted, start, end });
});

test.each([
  ['%%eca explain df', 'explain df'],
  ['%%eca\nWhy?\nTell me.\n', 'Why?\nTell me.'],
  ['%%eca -m far/m -n --lock=a.json -> answer\nWhy?', 'Why?'],
  ['%eca --agent codex Why? -> answer', 'Why?'],
  ['%eca -> answer', ''],
  ['x = 1\n%eca why is x one\ny = 2', 'why is x one'],
  ['%%time\n%eca -b plan look around', 'look around'],
  ['%eca', ''],
  ['%eca doctor', ''],
  ['%%eca summarize', 'summarize'],
  ['print(1)', '']
])('the question of %j is %j', (source, question) => {
  expect(readQuestion(source)).toBe(question);
});
