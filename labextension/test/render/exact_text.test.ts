/** Nothing of what somebody approves is hidden. The terminal's tests run the same cases. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { splitAtEmptyLines, toExactText } from '../../src/render/format';

const FILE = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures', 'exact_texts.json');
const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly cases: readonly { readonly name: string; readonly text: string; readonly shown: string }[];
};

test.each(cases)('every character of what is approved is shown: $name', ({ text, shown }) => {
  expect(toExactText(text)).toBe(shown);
});

test('a long run of empty lines is counted, so that the end of a command is not moved out of sight', () => {
  expect(splitAtEmptyLines(`ls${'\n'.repeat(501)}rm x`)).toEqual(['ls\n', 500, 'rm x']);
  expect(splitAtEmptyLines('a\n\n\nb')).toEqual(['a\n\n\nb']);
});
