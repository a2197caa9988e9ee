/**
 * Cells whose source is not in sight, while something is to be decided about it: text that is rendered, input that is
 * folded away. What is shown for the decision's sake is rendered again after it.
 */

import { Cell, MarkdownCell } from '@jupyterlab/cells';

export function isHidden(cell: Cell): boolean {
  return cell.inputHidden || (cell instanceof MarkdownCell && cell.rendered);
}

export class CellUnfolder {
  private readonly opened = new Set<MarkdownCell>();
  private readonly followed = new WeakSet<Cell>();

  /** `changed` is called when a cell that was followed is rendered, or its source shown, by whomever. */
  constructor(private readonly onChange: () => void) {}

  follow(cell: Cell): void {
    if (cell instanceof MarkdownCell && !this.followed.has(cell)) {
      this.followed.add(cell);
      cell.renderedChanged.connect(this.onChange);
    }
  }

  /** What the user folded away stays so. */
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

  /** All but these are decided about. One that is being written in is left to its writer. */
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
