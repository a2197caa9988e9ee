/**
 * Finds in the outputs of a cell the card of an answer that waits for the user. Pure.
 *
 * The kernel writes `{"jupyter_eca": {"waiting": true, "chat": ID}}` into the metadata of a card: see
 * `jupyter_eca/apps/kernel/answer/card.py`.
 */

import type { ICodeCellModel } from '@jupyterlab/cells';

const METADATA_KEY = 'jupyter_eca';

/** A card that waits for the user. */
export interface WaitingCard {
  /** The index of the card among the outputs. */
  readonly index: number;
  /** The id of the chat; empty in a notebook that an earlier version has saved. */
  readonly chat: string;
}

/** Return the card that waits; undefined if none does. */
export function findWaitingCard(outputs: Pick<ICodeCellModel['outputs'], 'length' | 'get'>): WaitingCard | undefined {
  for (let index = 0; index < outputs.length; index++) {
    const own = outputs.get(index).metadata[METADATA_KEY] as { waiting?: boolean; chat?: string } | undefined;
    if (own?.waiting === true) {
      return { index, chat: own.chat ?? '' };
    }
  }
  return undefined;
}
