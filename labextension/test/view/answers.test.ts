/** Finding whole answers in a transcript. */

import { expect, test } from 'vitest';

import { collectAnswer, listAnswerEnds } from '../../src/view/transcript/answers';
import { addContent, Blocks } from '../../src/chat/blocks';
import { Role } from '../../src/wire/protocol';

/** Each text is a content of its role. An image is between two texts of the assistant, so that they are two blocks. */
function transcript(...texts: readonly (readonly [Role, string])[]): Blocks {
  return texts.reduce<Blocks>((blocks, [role, text]) => {
    const after = addContent(blocks, { chatId: 'c', role, content: { type: 'text', text } });
    const image = { type: 'image', mediaType: 'image/png', base64: '' } as const;
    return role === 'assistant' ? addContent(after, { chatId: 'c', role, content: image }) : after;
  }, []);
}

test('an answer is all that the assistant wrote between two messages', () => {
  const blocks = transcript(
    ['user', 'a'],
    ['assistant', 'One.'],
    ['system', 'remark'],
    ['assistant', 'Two.'],
    ['user', 'b']
  );
  const [key = ''] = listAnswerEnds(blocks, false);
  expect(listAnswerEnds(blocks, false).size).toBe(1);
  expect(collectAnswer(blocks, key)).toBe('One.\n\nTwo.');
});

test('the answer of a command is the text of the server', () => {
  const blocks = transcript(['user', '/costs'], ['system', 'Nothing yet.']);
  const [key = ''] = listAnswerEnds(blocks, false);
  expect(collectAnswer(blocks, key)).toBe('Nothing yet.');
});

test('an answer that still runs is not complete', () => {
  const blocks = transcript(['user', 'a'], ['assistant', 'One.'], ['user', 'b'], ['assistant', 'Half']);
  expect(listAnswerEnds(blocks, true).size).toBe(1);
  expect(listAnswerEnds(blocks, false).size).toBe(2);
});
