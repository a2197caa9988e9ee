/**
 * Writes one sentence that says why a turn failed, for the card and for screen readers. Pure.
 *
 * The server's own words are longer and not translated. `Failure.tsx` shows them as details.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { TurnFailure } from '../../wire/protocol';

/**
 * Return the sentence. `model` consists of the provider and the name, for example `anthropic/claude`; it is empty if no
 * model was chosen. `budget-exceeded` is the budget that a provider sets, and `budget` the one that is set here.
 */
export function describeFailure({ kind, model }: TurnFailure, trans: TranslationBundle): string {
  const name = model || trans.__('The model');
  const provider = model.replace(/\/.*$/, '') || trans.__('the provider');
  switch (kind) {
    case 'auth':
      return trans.__('There is no valid key for %1.', provider);
    case 'no-model':
      return trans.__('No model is set up.');
    case 'unknown-model':
      return trans.__('There is no model with the name %1.', model);
    case 'quota':
      return trans.__('The credit for %1 is used up.', provider);
    case 'budget-exceeded':
      return trans.__('Your budget for %1 is used up.', provider);
    case 'budget':
      return trans.__('Your budget does not allow this request.');
    case 'context-overflow':
      return trans.__('This chat is too long for %1.', name);
    case 'rate-limited':
      return trans.__('Too many requests were sent to %1 in a short time.', provider);
    case 'overloaded':
      return trans.__('%1 is overloaded.', name);
    case 'network':
      return trans.__('The server of %1 could not be reached.', provider);
    case 'premature-end':
      return trans.__('%1 stopped in the middle of its answer.', name);
    case 'invalid-image':
      return trans.__('%1 does not accept an image or a document of this chat.', name);
    default:
      return trans.__('The request failed.');
  }
}
