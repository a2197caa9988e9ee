/** Writes a text for the user, in the user's language, that says why a request to the server failed. */

import type { TranslationBundle } from '@jupyterlab/translation';

import { LinkError } from '../../wire/rpc';

/** Return the text for an error. Only the server can say why it refused a request, so its text is not translated. */
export function describeError(error: unknown, trans: TranslationBundle): string {
  if (error instanceof LinkError) {
    return trans.__('There is no connection. Try again when it is back.');
  }
  return error instanceof Error ? error.message : String(error);
}
