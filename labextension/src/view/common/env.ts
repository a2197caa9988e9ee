/**
 * What every view may use of the front it is shown in: translation, Markdown, code buttons, links.
 *
 * Knows no front: the panel in Lab and the widget in a notebook each bring their own `Env`.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { ApprovalRules } from '../../chat/approval_rules';
import type { Flags } from '../../chat/flags';
import type { FindCell } from '../../chat/pasted_cells';
import type { CodeTools } from '../../render/code_types';
import { DEFAULTS, Preferences } from './preferences';

export interface Env {
  readonly trans: TranslationBundle;
  readonly code: CodeTools;
  /** Fills an element with Markdown that is not trusted. */
  readonly markdown: (host: HTMLElement, text: string) => Promise<void>;
  /** Fetch the whole output of a tool call, of which the card shows a part. */
  readonly fetchWholeOutput?: (toolCallId: string) => Promise<string | undefined>;
  readonly openPath: (path: string) => void;
  /** Show a notebook, and scroll to one of its cells. */
  readonly showCell: (path: string, cellId?: string) => void;
  readonly findCell?: FindCell;
  readonly preferences?: Observed<Preferences>;
  /** Open the settings, at a section of `settings/Settings.tsx` if one is named. */
  readonly openSettings?: (section?: string) => void;
  readonly approvalRules?: ApprovalRules;
  readonly flags?: Flags;
}

/** A value that changes, with a way to hear of changes. */
export interface Observed<T> {
  readonly subscribe: (watcher: () => void) => () => void;
  readonly current: () => T;
}

const EnvContext = React.createContext<Env | undefined>(undefined);
export const EnvProvider = EnvContext.Provider;

export function useEnv(): Env {
  const env = React.useContext(EnvContext);
  if (env === undefined) {
    throw new Error('a view is shown without an EnvProvider');
  }
  return env;
}

const unchanging = (): (() => void) => () => undefined;
const defaults = (): Preferences => DEFAULTS;

export function usePreferences(): Preferences {
  const { preferences } = useEnv();
  return React.useSyncExternalStore(
    preferences?.subscribe ?? unchanging,
    preferences?.current ?? defaults,
    preferences?.current ?? defaults
  );
}
