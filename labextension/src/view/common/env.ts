/**
 * Defines the environment of the views (`Env`): the functions of the page that every view may use, for example the
 * translation, the Markdown renderer and the opening of files.
 *
 * This module knows no page: the panel in Lab and the widget in a notebook each provide their own `Env`.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { ApprovalRules } from '../../chat/approval_rules';
import type { ToolBlock } from '../../chat/blocks';
import type { Flags, RateAnswer } from '../../chat/flags';
import type { FindCell } from '../../chat/pasted_cells';
import type { ChatContext } from '../../wire/protocol';
import { DEFAULTS, Preferences } from './preferences';

/** The functions of the page that views may use. An optional function is absent in pages that do not have it. */
export interface Env {
  /** Translates the texts of the views. */
  readonly trans: TranslationBundle;
  /** Renders Markdown that is not trusted into an element. */
  readonly markdown: (host: HTMLElement, text: string) => Promise<void>;
  /**
   * Fetches the whole output of a tool call, of which the card shows a part. The result is undefined if the request
   * fails.
   */
  readonly fetchWholeOutput?: (toolCallId: string) => Promise<string | undefined>;
  /** Opens a file. */
  readonly openPath: (path: string) => void;
  /** Shows a notebook and, if `cellId` is given, scrolls to this cell. */
  readonly showCell: (path: string, cellId?: string) => void;
  /** Finds a cell in the open notebooks by its id. */
  readonly findCell?: FindCell;
  /** Returns the name of the kernel of an open notebook, as Lab shows it; undefined if no kernel runs for it. */
  readonly findKernel?: (path: string) => string | undefined;
  /** Finds out whether the cells of a waiting call are still as they were. */
  readonly proposedCells?: ProposedCells;
  /** The ids of the chats that wait for the user, and whose asking cell was deleted. */
  readonly deletedQuestions?: Observed<ReadonlySet<string>>;
  /** Returns the path of the notebook that the user worked in last; undefined when there is none. */
  readonly findNotebook?: () => string | undefined;
  /** What the user has set for the panel in Lab's settings. */
  readonly preferences?: Observed<Preferences>;
  /** Writes preferences into Lab's settings. */
  readonly savePreferences?: (changed: Partial<Preferences>) => void;
  /** Opens the settings of the assistant, at a section of `settings/Settings.tsx` if one is named. */
  readonly openSettings?: (section?: string) => void;
  /** Opens the files in which settings of the assistant are written. */
  readonly ownFiles?: OwnFilesOpener;
  /** Writes approval rules. */
  readonly approvalRules?: ApprovalRules;
  /** Attaches files to messages. */
  readonly attachments?: Attachments;
  /** Adds flags (marks with a short text) to messages, and removes them. */
  readonly flags?: Flags;
  /** Rates answers. */
  readonly rateAnswer?: RateAnswer;
}

/** Why a call cannot do what it proposes: a cell has another source now (`changed`), or does not exist (`gone`). */
export type Obstacle = 'changed' | 'gone';

/** Compares the cells that calls would change or run with the open notebooks. */
export interface ProposedCells {
  /** Calls `subscriber` whenever a cell may have changed. The returned function ends that. */
  readonly subscribe: (subscriber: () => void) => () => void;
  /** Returns why a call cannot do what it proposes; undefined if it can, or if that is not known. */
  readonly findObstacle: (block: ToolBlock) => Obstacle | undefined;
}

/** Opens the files in which settings of the assistant are written, in an editor of the page. */
export interface OwnFilesOpener {
  /** Opens a file by the name that the server uses for it. */
  readonly open: (file: string) => void;
  /** Calls `subscriber` whenever a file was saved. The returned function ends that. */
  readonly subscribe: (subscriber: () => void) => () => void;
}

/**
 * Attaches files of the server to messages. Each function returns the contexts for the message. If it fails, it throws
 * an error whose message is shown to the user.
 */
export interface Attachments {
  /** Lets the user choose files. */
  readonly choose: () => Promise<readonly ChatContext[]>;
  /** Uploads files of the user's computer. */
  readonly upload: (files: readonly File[]) => Promise<readonly ChatContext[]>;
  /** Attaches the files and folders at these paths of the server. */
  readonly attachPaths: (paths: readonly string[]) => Promise<readonly ChatContext[]>;
}

/** A value that changes, and whose changes can be observed. */
export interface Observed<T> {
  /** Calls `subscriber` whenever the value has changed. The returned function ends that. */
  readonly subscribe: (subscriber: () => void) => () => void;
  /** Returns the value. It is the same object until it changes. */
  readonly current: () => T;
}

/** The React context with the `Env` of the page. It is undefined outside of an `EnvProvider`. */
const EnvContext = React.createContext<Env | undefined>(undefined);
/** Gives its `value` to all views in it. */
export const EnvProvider = EnvContext.Provider;

/** Return the `Env` of the page. Throws: Error outside of an `EnvProvider`. */
export function useEnv(): Env {
  const env = React.useContext(EnvContext);
  if (env === undefined) {
    throw new Error('a view is shown without an EnvProvider');
  }
  return env;
}

/** Takes the place of a function that subscribes, in pages where nothing changes. */
export const subscribeToNothing = (): (() => void) => () => undefined;
/** Takes the place of a function that returns the preferences, in pages without preferences. */
const getDefaults = (): Preferences => DEFAULTS;

/** Return the preferences of the user; the defaults where the page has none. */
export function usePreferences(): Preferences {
  const { preferences } = useEnv();
  return React.useSyncExternalStore(
    preferences?.subscribe ?? subscribeToNothing,
    preferences?.current ?? getDefaults,
    preferences?.current ?? getDefaults
  );
}
