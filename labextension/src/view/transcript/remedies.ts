/**
 * Lists what helps after a failure, which decides the buttons of its card. The server sends the kind of the failure.
 * Pure.
 *
 * This module knows no texts: `Failure.tsx` draws the card in the panel, and `errors/error_bars.ts` the bar in a cell.
 */

import { FailureKind } from '../../wire/protocol';

/** `retry`: ask the same again. `signIn` and `settings` open the settings. `model`: choose another model. */
export type Remedy = 'retry' | 'signIn' | 'model' | 'settings';

/** What helps after each kind of failure, the best first. */
const REMEDIES: Readonly<Record<FailureKind, readonly Remedy[]>> = {
  auth: ['signIn', 'model', 'retry'],
  'no-model': ['signIn', 'retry'],
  'unknown-model': ['model', 'settings'],
  quota: ['model', 'retry', 'settings'],
  budget: ['settings', 'model'],
  'context-overflow': ['model'],
  'rate-limited': ['retry', 'model'],
  overloaded: ['retry', 'model'],
  network: ['retry', 'model', 'settings'],
  'premature-end': ['retry', 'model'],
  'invalid-image': ['retry', 'model'],
  other: ['retry', 'model', 'settings']
};

/** Return what helps, the best first. A kind of a newer server counts as `other`. */
export function listRemedies(kind: FailureKind): readonly Remedy[] {
  return (REMEDIES as Readonly<Record<string, readonly Remedy[] | undefined>>)[kind] ?? REMEDIES.other;
}

/** Return the section of the settings that has what the failure is about. */
export function findSettingsSection(kind: FailureKind): 'costs' | 'providers' {
  return kind === 'budget' ? 'costs' : 'providers';
}
