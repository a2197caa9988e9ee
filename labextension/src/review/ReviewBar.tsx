/**
 * The bar at the bottom of a notebook while changes of the assistant are undecided. It counts them, goes from one to the
 * next, and keeps or undoes all of them.
 *
 * This module knows no cell and no widget: `overview.ts` counts the changes, and `ReviewBarWidget.tsx` puts the bar into
 * the notebook.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { IconButton } from '../view/common/Icon';

/** What the bar shows. */
export interface ReviewCounts {
  /** How many changes were made, and are neither kept nor undone. */
  readonly made: number;
  /** How many changes wait for approval. */
  readonly proposed: number;
  /** The number of the change that is shown, from 1; undefined when the user has gone to none. */
  readonly shown: number | undefined;
  /** Whether a turn is running in a chat that made one of the changes. Then they cannot be kept or undone all at once. */
  readonly busy: boolean;
}

/** What the buttons do. */
export interface ReviewBarActions {
  /** Goes to the next change (1) or the previous one (-1). */
  readonly goTo: (direction: 1 | -1) => void;
  readonly keepAll: () => void;
  readonly undoAll: () => void;
}

type Props = ReviewBarActions & { readonly counts: ReviewCounts; readonly trans: TranslationBundle };

/** The content of the bar. */
export function ReviewBar({ counts, trans, goTo, keepAll, undoAll }: Props): React.ReactElement {
  const { made, proposed, shown, busy } = counts;
  const later = busy ? trans.__('You can decide about all changes when the answer has ended.') : undefined;
  const words =
    shown !== undefined
      ? trans.__('Change %1 of %2', shown, made + proposed)
      : [
          ...(made > 0 ? [trans._n('%1 change', '%1 changes', made)] : []),
          ...(proposed > 0 ? [trans._n('%1 proposed change', '%1 proposed changes', proposed)] : [])
        ].join(' · ');
  return (
    <>
      <span className="eca-ReviewBar-words" role="status">
        {words}
      </span>
      <IconButton
        icon="up"
        label={trans.__('Previous change')}
        onClick={() => {
          goTo(-1);
        }}
      />
      <IconButton
        icon="down"
        label={trans.__('Next change')}
        onClick={() => {
          goTo(1);
        }}
      />
      {made > 0 && (
        <>
          <button type="button" className="eca-Hunk-button" disabled={busy} title={later} onClick={keepAll}>
            {trans.__('Keep all')}
          </button>
          <button type="button" className="eca-Hunk-button" disabled={busy} title={later} onClick={undoAll}>
            {trans.__('Undo all')}
          </button>
        </>
      )}
    </>
  );
}
