/** A chat that is found by what was said in it opens at that message. */

import { expect, test } from 'vitest';

import { Block } from '../../src/chat/blocks';
import { findNewestMessage } from '../../src/chats/found_message';

const BLOCKS: readonly Block[] = [
  { kind: 'user', key: 'b0', text: 'Why does the merge lose ROWS?', images: [] },
  { kind: 'text', key: 'b1', text: 'Keys that do not match: their rows go.' },
  {
    kind: 'tool',
    key: 'b2',
    id: 't',
    name: 'rows',
    server: 'ECA',
    origin: 'native',
    status: 'done',
    argumentsText: 'rows',
    outputs: []
  },
  { kind: 'system', key: 'b3', text: 'Which rows?' },
  { kind: 'user', key: 'b4', text: 'Something else', images: [] }
];

test.each([
  [['lose', 'rows'], 'b0'],
  [['match'], 'b1'],
  [['rows'], 'b3'],
  [['nobody'], undefined],
  [[], undefined]
])('%j is found in %s', (words, key) => {
  expect(findNewestMessage(BLOCKS, words)?.key).toBe(key);
});
