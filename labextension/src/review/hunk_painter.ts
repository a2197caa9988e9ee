/**
 * Keeps the hunks of cells drawn in their editors. Those of an inline edit come before those of a review.
 *
 * Knows no decision: a single hunk is drawn by `hunk_view.ts`.
 */

import { Cell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';

import { Hunk } from './hunks';
import { drawHunks, Look } from './hunk_view';

export type Layer = 'edit' | 'review';

interface Drawing {
  readonly hunks: readonly Hunk[];
  readonly look: Look;
}

type Layers = Partial<Record<Layer, Drawing>>;

export class HunkPainter {
  private readonly wanted = new WeakMap<Cell, Layers>();
  private readonly drawn = new WeakMap<Cell, readonly Hunk[]>();

  /** Draw hunks in a cell, as soon as it has an editor. */
  paint(cell: Cell, layer: Layer, hunks: readonly Hunk[], look: Look): void {
    const before = this.wanted.get(cell) ?? {};
    if (before[layer]?.hunks === hunks && before[layer].look === look) {
      return;
    }
    this.wanted.set(cell, { ...before, [layer]: { hunks, look } });
    // Never at once: an editor that reports a change is still updating.
    void cell.ready.then(
      () => {
        this.flush(cell);
      },
      () => undefined
    );
  }

  /** Remove the hunks of a layer from a cell. */
  clear(cell: Cell, layer: Layer): void {
    const look = this.wanted.get(cell)?.[layer]?.look;
    if (look !== undefined) {
      this.paint(cell, layer, [], look);
    }
  }

  private flush(cell: Cell): void {
    const view = (cell.editor as Partial<CodeMirrorEditor> | null)?.editor;
    const { edit, review } = this.wanted.get(cell) ?? {};
    const top = edit !== undefined && edit.hunks.length > 0 ? edit : review;
    const now = top ?? edit;
    if (cell.isDisposed || view === undefined || now === undefined || this.drawn.get(cell) === now.hunks) {
      return;
    }
    this.drawn.set(cell, now.hunks);
    drawHunks(view, now.hunks, now.look);
  }
}
