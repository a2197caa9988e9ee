/**
 * Decides which hunks are drawn in the editors of cells. A hunk is a group of neighbouring lines that differ from
 * another text. A cell has two layers of hunks: those of an inline edit, and those of a review of changes. While it has
 * hunks of an inline edit, the others are hidden.
 *
 * `review/controller.ts` and `inline/edit_cells.ts` pass the hunks to this module. `hunk_view.ts` draws them.
 */

import { Cell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';

import { Hunk } from './hunks';
import { drawHunks, HunkStyle, revealHunk } from './hunk_view';

/** Where hunks come from: an inline edit, or the review of changes. */
export type Layer = 'edit' | 'review';

/** The hunks of a layer, and the style in which they are drawn. */
interface Drawing {
  readonly hunks: readonly Hunk[];
  readonly style: HunkStyle;
}

/** The drawings of one cell, by their layers. */
type Layers = Partial<Record<Layer, Drawing>>;

/** Remembers the hunks of each cell, and draws them when the cell has an editor. */
export class HunkPainter {
  /** The hunks of each cell, by their layers. */
  private readonly drawings = new WeakMap<Cell, Layers>();
  /** The hunks that are drawn in each cell. */
  private readonly drawn = new WeakMap<Cell, readonly Hunk[]>();

  /** Draw hunks in a cell, as soon as it has an editor. */
  paint(cell: Cell, layer: Layer, hunks: readonly Hunk[], style: HunkStyle): void {
    const before = this.drawings.get(cell) ?? {};
    if (before[layer]?.hunks === hunks && before[layer].style === style) {
      return;
    }
    this.drawings.set(cell, { ...before, [layer]: { hunks, style } });
    // The hunks are drawn a moment later: an editor that reports a change is still updating, and must not be changed.
    void cell.ready.then(
      () => {
        this.drawTopLayer(cell);
      },
      () => undefined
    );
  }

  /** Remove the hunks of a layer from a cell. */
  clear(cell: Cell, layer: Layer): void {
    const style = this.drawings.get(cell)?.[layer]?.style;
    if (style !== undefined) {
      this.paint(cell, layer, [], style);
    }
  }

  /**
   * Scroll to a hunk, and return its element. Undefined when it is not drawn: the cell has no editor yet, or it shows
   * the hunks of an inline edit.
   */
  async reveal(cell: Cell, hunk: Hunk): Promise<HTMLElement | undefined> {
    this.drawTopLayer(cell);
    const view = findView(cell);
    return view === undefined ? undefined : revealHunk(view, hunk);
  }

  /** Draw the layer that should be seen in a cell, unless it is drawn already. */
  private drawTopLayer(cell: Cell): void {
    const view = findView(cell);
    const { edit, review } = this.drawings.get(cell) ?? {};
    const hasEdit = edit !== undefined && edit.hunks.length > 0;
    // Without any hunks, the empty list of the inline edit is drawn, which removes its last hunks.
    const topLayer = hasEdit ? edit : (review ?? edit);
    if (cell.isDisposed || view === undefined || topLayer === undefined || this.drawn.get(cell) === topLayer.hunks) {
      return;
    }
    this.drawn.set(cell, topLayer.hunks);
    drawHunks(view, topLayer.hunks, topLayer.style);
  }
}

/** Return the editor of a cell; undefined when it has none, for example because it was never seen. */
function findView(cell: Cell): CodeMirrorEditor['editor'] | undefined {
  return (cell.editor as Partial<CodeMirrorEditor> | null)?.editor;
}
