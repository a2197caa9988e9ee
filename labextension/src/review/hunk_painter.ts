/**
 * Keeps hunks drawn in the editors of cells. A hunk is a group of neighbouring lines that differ from another text. A
 * cell has two layers of hunks: those of an inline edit, and those of a review of changes. While it has hunks of an
 * inline edit, the others are hidden.
 *
 * This module knows no decision: `review/controller.ts` and `inline/edit_cells.ts` say what is drawn. `hunk_view.ts`
 * draws a single hunk.
 */

import { Cell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';

import { Hunk } from './hunks';
import { drawHunks, HunkStyle, revealHunk } from './hunk_view';

/** Where hunks come from: an inline edit, or the review of changes. */
export type Layer = 'edit' | 'review';

/** The hunks of a layer and how they are drawn. */
interface Drawing {
  readonly hunks: readonly Hunk[];
  readonly style: HunkStyle;
}

type Layers = Partial<Record<Layer, Drawing>>;

/** Remembers what should be drawn in each cell, and draws it when the cell has an editor. */
export class HunkPainter {
  /** What should be drawn in each cell. */
  private readonly wanted = new WeakMap<Cell, Layers>();
  /** The hunks that are drawn in each cell. */
  private readonly drawn = new WeakMap<Cell, readonly Hunk[]>();

  /** Draw hunks in a cell, as soon as it has an editor. */
  paint(cell: Cell, layer: Layer, hunks: readonly Hunk[], style: HunkStyle): void {
    const before = this.wanted.get(cell) ?? {};
    if (before[layer]?.hunks === hunks && before[layer].style === style) {
      return;
    }
    this.wanted.set(cell, { ...before, [layer]: { hunks, style } });
    // Not drawn at once: an editor that reports a change is still updating, and must not be changed then.
    void cell.ready.then(
      () => {
        this.flush(cell);
      },
      () => undefined
    );
  }

  /** Remove the hunks of a layer from a cell. */
  clear(cell: Cell, layer: Layer): void {
    const style = this.wanted.get(cell)?.[layer]?.style;
    if (style !== undefined) {
      this.paint(cell, layer, [], style);
    }
  }

  /**
   * Scroll to a hunk, and return its element. Undefined when it is not drawn: the cell has no editor yet, or it shows the
   * hunks of an inline edit.
   */
  async reveal(cell: Cell, hunk: Hunk): Promise<HTMLElement | undefined> {
    this.flush(cell);
    const view = findView(cell);
    return view === undefined ? undefined : revealHunk(view, hunk);
  }

  /** Draw the layer that should be seen in a cell, unless it is drawn already. */
  private flush(cell: Cell): void {
    const view = findView(cell);
    const { edit, review } = this.wanted.get(cell) ?? {};
    const hasEdit = edit !== undefined && edit.hunks.length > 0;
    // Without any hunks, the empty list of the inline edit is drawn, which removes its last hunks.
    const top = hasEdit ? edit : (review ?? edit);
    if (cell.isDisposed || view === undefined || top === undefined || this.drawn.get(cell) === top.hunks) {
      return;
    }
    this.drawn.set(cell, top.hunks);
    drawHunks(view, top.hunks, top.style);
  }
}

/** Return the editor of a cell; undefined when it has none, for example because it was never seen. */
function findView(cell: Cell): CodeMirrorEditor['editor'] | undefined {
  return (cell.editor as Partial<CodeMirrorEditor> | null)?.editor;
}
