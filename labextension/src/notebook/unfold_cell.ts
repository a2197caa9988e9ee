/**
 * Shows the source of a cell while a change of the cell waits for a decision. The source may be hidden because the cell
 * is a rendered Markdown cell, or because its input is collapsed.
 *
 * A Markdown cell that was opened for a decision is rendered again afterwards. `review/controller.ts` decides which
 * cells are opened.
 */

import { Cell, MarkdownCell } from '@jupyterlab/cells';

/** Whether the source of a cell is hidden: its input is collapsed, or its Markdown is rendered. */
export function isSourceHidden(cell: Cell): boolean {
  return cell.inputHidden || (cell instanceof MarkdownCell && cell.rendered);
}

/** Shows the sources of cells, and renders Markdown cells again. */
export class CellUnfolder {
  /** The cells that were opened, and must be rendered again. */
  private readonly openedCells = new Set<MarkdownCell>();
  /** The cells of which `onChange` reports when they are rendered and when their source is shown. */
  private readonly followed = new WeakSet<Cell>();

  /** `onChange` is called when a followed cell is rendered or its source is shown, by the user or by this class. */
  constructor(private readonly onChange: () => void) {}

  /** Call `onChange` from now on when this cell is rendered or its source is shown. */
  follow(cell: Cell): void {
    if (cell instanceof MarkdownCell && !this.followed.has(cell)) {
      this.followed.add(cell);
      cell.renderedChanged.connect(this.onChange);
    }
  }

  /** Show the source of a rendered Markdown cell. Input that the user has collapsed stays collapsed. */
  showSource(cell: Cell): void {
    if (cell instanceof MarkdownCell && cell.rendered && !cell.inputHidden) {
      this.openedCells.add(cell);
      void cell.ready.then(
        () => {
          // False, unless the cell was disposed in the meantime: then it must not be changed.
          cell.rendered = cell.isDisposed;
        },
        () => undefined
      );
    }
  }

  /** Show the source of any cell. Collapsed input is expanded. */
  show(cell: Cell): void {
    cell.inputHidden = false;
    this.showSource(cell);
  }

  /**
   * Render all opened cells except those whose changes are `undecided`. A cell that has the focus is left as it is.
   */
  renderCellsExcept(undecided: ReadonlySet<Cell>): void {
    for (const cell of this.openedCells) {
      if (!undecided.has(cell)) {
        this.openedCells.delete(cell);
        if (!cell.isDisposed && cell.editor?.hasFocus() !== true) {
          cell.rendered = true;
        }
      }
    }
  }
}
