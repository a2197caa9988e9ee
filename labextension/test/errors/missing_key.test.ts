import { expect, test } from 'vitest';

import { createKeepingLine, findMissingKey } from '../../src/errors/missing_key';

test.each([
  ["'OPENAI_API_KEY'", 'OPENAI_API_KEY'],
  [
    'Missing credentials. Please pass an `api_key`, or set the `OPENAI_API_KEY` environment variable.',
    'OPENAI_API_KEY'
  ],
  ['Set AWS_HOUSE_2_API_KEY or HOUSE_API_KEY', 'AWS_HOUSE_2_API_KEY']
])('an error that names a variable with a key is recognized: %s', (message, variable) => {
  expect(findMissingKey(['division by zero', message])).toBe(variable);
});

test.each(['division by zero', "'openai_api_key'", 'API_KEY', "'HOME'"])('another error is not: %s', message => {
  expect(findMissingKey([message])).toBeUndefined();
});

test('the line for the configuration keeps this variable', () => {
  expect(JSON.parse(`{${createKeepingLine('A_API_KEY')}}`)).toEqual({ keptVariables: ['A_API_KEY'] });
});
