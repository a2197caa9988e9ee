/** The outline of a notebook is decided with buttons, until the notebook is made. */

import { expect, test } from 'vitest';

import { addContent, Blocks } from '../../src/chat/blocks';
import { endsWithOutline } from '../../src/view/tools/outline';
import { Content, Role } from '../../src/wire/protocol';

function chat(...contents: (readonly [Role, Content])[]): Blocks {
  return contents.reduce<Blocks>((blocks, [role, content]) => addContent(blocks, { chatId: 'c', role, content }), []);
}

const says = (role: Role, text: string): readonly [Role, Content] => [role, { type: 'text', text }];
const ASKED = says('user', '/notebook sales by city');
const OUTLINE = says('assistant', '1. Load the sales');
const MADE: readonly [Role, Content] = [
  'assistant',
  {
    type: 'toolCalled',
    id: 't',
    name: 'notebook_create',
    server: 'ECA',
    origin: 'native',
    arguments: {},
    error: false,
    outputs: [],
    totalTimeMs: 1
  }
];

test.each<[string, Blocks, boolean]>([
  ['an outline', chat(ASKED, OUTLINE), true],
  ['another outline, after a wish', chat(ASKED, OUTLINE, says('user', 'shorter'), OUTLINE), true],
  ['a notebook that was made', chat(ASKED, OUTLINE, says('user', 'Make it'), MADE, OUTLINE), false],
  ['a second notebook', chat(ASKED, OUTLINE, MADE, OUTLINE, ASKED, OUTLINE), true],
  ['a question before the answer', chat(ASKED), false],
  ['a failure', chat(ASKED, ['system', { type: 'text', text: 'No.', failure: { kind: 'other' } } as Content]), false],
  ['the command without a description', chat(says('user', '/notebook'), says('system', 'Say what it is for')), false],
  ['another question', chat(says('user', 'Which notebook?'), OUTLINE), false]
])('%s', (_, blocks, expected) => {
  expect(endsWithOutline(blocks)).toBe(expected);
});
