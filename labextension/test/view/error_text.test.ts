/** What a user reads when a request fails. */

import { expect, test } from 'vitest';

import { describeError } from '../../src/view/common/error_text';
import { LinkError } from '../../src/wire/rpc';
import { pseudo } from '../support/pseudo';

test('a lost connection is described in the language of the user, and a refusal in the words of the server', () => {
  expect(describeError(new LinkError('the link is closed'), pseudo)).toBe(
    '⟦There is no connection. Try again when it is back.⟧'
  );
  expect(describeError(new Error('this rule exists already'), pseudo)).toBe('this rule exists already');
});
