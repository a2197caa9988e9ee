/** What the kernel's reply to the line that loads the extension says. */

import { expect, test } from 'vitest';

import { readReply } from '../../src/notebook/load_extension';

/** The reply with an error of this name. */
const replyWith = (ename: string, evalue: string): Parameters<typeof readReply>[0] => ({
  status: 'error',
  ename,
  evalue,
  traceback: [],
  execution_count: 1
});

test('a module that is not found means that the environment of the kernel lacks the package', () => {
  expect(readReply(replyWith('ModuleNotFoundError', "No module named 'jupyter_eca'"))).toEqual({ kind: 'missing' });
});

test.each([
  ['True', 'loaded'],
  // A folder with the name of the package is imported, and it has no extension.
  ['False', 'missing']
])('after a line without error, %s says whether the magics are known: %s', (text, kind) => {
  const loaded = { status: 'ok', data: { 'text/plain': text }, metadata: {} };
  expect(readReply({ status: 'ok', execution_count: 1, payload: [], user_expressions: { loaded } })).toEqual({ kind });
});

test('another error is shown as the kernel says it', () => {
  expect(readReply(replyWith('SyntaxError', 'no'))).toEqual({ kind: 'failed', error: 'SyntaxError: no' });
});

test('a line that the kernel skipped was not loaded', () => {
  expect(readReply({ status: 'aborted', execution_count: 1 })).toEqual({ kind: 'cancelled' });
});
