/**
 * Shows the source of a cell while a change of it is to be decided: of rendered text, and of input that is collapsed.
 *
 * Text that was opened for a decision is rendered again after it. Knows no change: `review/controller.ts` says which cells.
 */

import { Cell, MarkdownCell } from '@jupyterlab/cells';

export function isHidden(cell: Cell): boolean {
  return cell.inputHidden || (cell instanceof MarkdownCell && cell.rendered);
}

export class CellUnfolder {
  private readonly opened = new Set<MarkdownCell>();
  private readonly followed = new WeakSet<Cell>();

  /** `onChange` is called when a followed cell is rendered or its source is shown, by the user or by this class. */
  constructor(private readonly onChange: () => void) {}

  follow(cell: Cell): void {
    if (cell instanceof MarkdownCell && !this.followed.has(cell)) {
      this.followed.add(cell);
      cell.renderedChanged.connect(this.onChange);
    }
  }

  /** Show the source of rendered text. Input that the user collapsed stays collapsed. */
  showSource(cell: Cell): void {
    if (cell instanceof MarkdownCell && cell.rendered && !cell.inputHidden) {
      this.opened.add(cell);
      void cell.ready.then(
        () => {
          cell.rendered = cell.isDisposed;
        },
        () => undefined
      );
    }
  }

  show(cell: Cell): void {
    cell.inputHidden = false;
    this.showSource(cell);
  }

  /**
   * Render the text of all opened cells but those that are still `open`. A cell that has the focus is left as it is.
   */
  renderDecided(open: ReadonlySet<Cell>): void {
    for (const cell of this.opened) {
      if (!open.has(cell)) {
        this.opened.delete(cell);
        if (!cell.isDisposed && cell.editor?.hasFocus() !== true) {
          cell.rendered = true;
        }
      }
    }
  }
}
