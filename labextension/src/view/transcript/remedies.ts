/**
 * Lists what the user can do after a failure of a turn. The card of the failure has a button for each of these
 * remedies. The server sends the kind of the failure. Pure.
 *
 * This module knows no texts: `Failure.tsx` draws the card in the panel, and `errors/error_bars.ts` the bar in a cell.
 */

import { FailureKind } from '../../wire/protocol';

/**
 * `retry`: send the message again. `model`: choose another model or outside agent. `signIn`: open the providers in the
 * settings, where the user can sign in. `settings`: open the section that `findSettingsSection` returns.
 */
export type Remedy = 'retry' | 'signIn' | 'model' | 'settings';

/** The remedies for each kind of failure, the best first. */
const REMEDIES: Readonly<Record<FailureKind, readonly Remedy[]>> = {
  auth: ['signIn', 'model', 'retry'],
  'no-model': ['signIn', 'retry'],
  'unknown-model': ['model', 'settings'],
  quota: ['model', 'retry', 'settings'],
  'budget-exceeded': ['model'],
  budget: ['settings', 'model'],
  'context-overflow': ['model'],
  'rate-limited': ['retry', 'model'],
  overloaded: ['retry', 'model'],
  network: ['retry', 'model', 'settings'],
  'premature-end': ['retry', 'model'],
  'invalid-image': ['retry', 'model'],
  other: ['retry', 'model', 'settings']
};

/** Return the remedies for a failure, the best first. A kind that only a newer server knows counts as `other`. */
export function listRemedies(kind: FailureKind): readonly Remedy[] {
  return (REMEDIES as Readonly<Record<string, readonly Remedy[] | undefined>>)[kind] ?? REMEDIES.other;
}

/** Return the section of the settings in which the user can find the cause of the failure. */
export function findSettingsSection(kind: FailureKind): 'costs' | 'providers' {
  return kind === 'budget' ? 'costs' : 'providers';
}
