/** A result that comes as text and as JSON is shown once. The tests of cells run the same cases. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { repeatsText } from '../../src/render/json_results';

const FILE = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures', 'json_results.json');
const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly cases: readonly {
    readonly name: string;
    readonly json: string;
    readonly text: string;
    readonly repeats: boolean;
  }[];
};

test.each(cases)('a text that repeats its JSON is recognised: $name', ({ json, text, repeats }) => {
  expect(repeatsText(json, text)).toBe(repeats);
});
