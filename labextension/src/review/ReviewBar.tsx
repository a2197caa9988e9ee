/**
 * Draws the review bar at the bottom of a notebook, as long as the user has not decided about all changes of the
 * assistant. The bar counts the changes. Its buttons go from one change to the next, and keep or undo all of them.
 *
 * This module knows no cell and no widget: `overview.ts` counts the changes, and `ReviewBarWidget.tsx` puts the bar
 * into the notebook.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { createElement } from '../view/common/element';
import { IconButton } from '../view/common/Icon';

/** What the bar shows. */
export interface ReviewCounts {
  /** How many changes were made, and are neither kept nor undone. */
  readonly madeCount: number;
  /** How many changes wait for approval, without those that the user leaves out. */
  readonly proposedCount: number;
  /** How many changes the user leaves out of those that wait. */
  readonly leftOutCount: number;
  /** The number of the change to which the user has gone last, from 1; undefined when there is none. */
  readonly shownNumber: number | undefined;
  /**
   * Whether a turn is running in a chat that made one of the changes. Then they cannot be kept or undone all at once.
   */
  readonly busy: boolean;
}

/** The functions that the buttons call. */
export interface ReviewBarActions {
  /** Goes to the next change (1) or the previous one (-1). */
  readonly goTo: (direction: 1 | -1) => void;
  /** Keeps all changes that were made. */
  readonly keepAll: () => void;
  /** Undoes all changes that were made. */
  readonly undoAll: () => void;
}

type Props = ReviewBarActions & { readonly counts: ReviewCounts; readonly trans: TranslationBundle };

/** Draws the content of the bar. */
export function ReviewBar({ counts, trans, goTo, keepAll, undoAll }: Props): React.ReactElement {
  const { madeCount, proposedCount, leftOutCount, shownNumber, busy } = counts;
  const busyHint = busy ? trans.__('You can decide about all changes when the answer has ended.') : undefined;
  const text =
    shownNumber !== undefined
      ? trans.__('Change %1 of %2', shownNumber, madeCount + proposedCount + leftOutCount)
      : [
          ...(madeCount > 0 ? [trans._n('%1 change', '%1 changes', madeCount)] : []),
          ...(proposedCount > 0 ? [trans._n('%1 proposed change', '%1 proposed changes', proposedCount)] : []),
          ...(leftOutCount > 0 ? [trans.__('%1 left out', leftOutCount)] : [])
        ].join(' · ');
  return (
    <>
      <span className="eca-ReviewBar-words" role="status">
        {text}
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
      {madeCount > 0 && (
        <>
          <button type="button" className="eca-Hunk-button" disabled={busy} title={busyHint} onClick={keepAll}>
            {trans.__('Keep all')}
          </button>
          <button type="button" className="eca-Hunk-button" disabled={busy} title={busyHint} onClick={undoAll}>
            {trans.__('Undo all')}
          </button>
        </>
      )}
    </>
  );
}
