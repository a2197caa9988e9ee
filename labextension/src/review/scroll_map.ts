/**
 * Draws a thin strip at the right edge of a notebook, with a mark for each changed cell. The place of a mark in the
 * strip is the place of its cell in the whole notebook. A click on a mark goes to the cell.
 *
 * Lab may remove cells from the page that cannot be seen (its windowing mode *full*). It estimates their heights, and
 * the places of their marks come from these estimates. The strip is for the mouse only, and hidden from screen readers:
 * the review bar has buttons and keys for the same purpose.
 */

import { Cell } from '@jupyterlab/cells';
import { Notebook } from '@jupyterlab/notebook';

import { Tone } from './cell_bar';

/** A changed cell. The tone decides the colour of its mark. */
export interface MarkedCell {
  readonly cell: Cell;
  readonly tone: Tone;
}

/** The part of Lab's model of a windowed list that is used here. */
interface Estimates {
  /** Returns the offset and the height, in pixels, of the items from the index `first` to the index `last`. */
  getSpan(first: number, last: number): [number, number];
}

/** The strip of one notebook, until `dispose` is called. */
export class ScrollMap {
  /** The element of the strip. */
  private readonly node = document.createElement('div');
  /** The marks in the strip, each with its element. */
  private marks: readonly (MarkedCell & { readonly node: HTMLElement })[] = [];
  /** The id of the animation frame that will update the marks; 0 when no update is planned. */
  private plannedFrame = 0;
  private readonly resizeObserver = new ResizeObserver(() => {
    this.updateLater();
  });

  /** `goTo` is called with the cell whose mark is clicked. */
  constructor(
    private readonly notebook: Notebook,
    private readonly goTo: (cell: Cell) => void
  ) {
    this.node.className = 'eca-ScrollMap';
    this.node.setAttribute('aria-hidden', 'true');
    notebook.node.append(this.node);
    notebook.outerNode.addEventListener('scroll', this.updateLater, { passive: true });
    this.resizeObserver.observe(notebook.outerNode);
    this.resizeObserver.observe(notebook.viewportNode);
  }

  /** Remove the strip. */
  dispose(): void {
    cancelAnimationFrame(this.plannedFrame);
    this.resizeObserver.disconnect();
    this.notebook.outerNode.removeEventListener('scroll', this.updateLater);
    this.node.remove();
  }

  /** Show a mark for each of these cells. */
  show(cells: readonly MarkedCell[]): void {
    const isSame =
      cells.length === this.marks.length && cells.every((marked, index) => isSameMark(marked, this.marks[index]));
    if (!isSame) {
      this.marks = cells.map(marked => ({ ...marked, node: this.createMark(marked) }));
      this.node.replaceChildren(...this.marks.map(({ node }) => node));
    }
    this.updateLater();
  }

  /** Create the element of a mark. */
  private createMark({ cell, tone }: MarkedCell): HTMLElement {
    const node = document.createElement('div');
    node.className = 'eca-ScrollMap-mark';
    node.dataset.tone = tone;
    // Otherwise the notebook would make the cell at this place active, and could begin to select cells.
    node.addEventListener('mousedown', event => {
      event.preventDefault();
      event.stopPropagation();
    });
    node.addEventListener('click', () => {
      this.goTo(cell);
    });
    return node;
  }

  /** Update the places of the marks before the page is drawn again. Lab corrects its estimates while it scrolls. */
  private readonly updateLater = (): void => {
    if (this.plannedFrame === 0) {
      this.plannedFrame = requestAnimationFrame(() => {
        this.plannedFrame = 0;
        this.update();
      });
    }
  };

  /** Set the places and heights of all marks. */
  private update(): void {
    const { outerNode, node } = this.notebook;
    const { scrollHeight, scrollTop, offsetWidth, clientWidth } = outerNode;
    const outerBox = outerNode.getBoundingClientRect();
    // The distance from the right edge of the frame to that of the notebook: the width of the scroll bar, for example.
    const inset = node.getBoundingClientRect().right - outerBox.right + offsetWidth - clientWidth;
    const top = outerBox.top - scrollTop;
    // All places are read before any is written. So the browser computes the layout of the page only once.
    const places = this.marks.map(mark => ({ mark, place: this.measure(mark.cell, top) }));
    this.node.style.insetInlineEnd = `${String(inset)}px`;
    for (const { mark, place } of places) {
      const [start, height] = place.map(length => `${String((100 * length) / scrollHeight)}%`);
      mark.node.style.insetBlockStart = start ?? '';
      mark.node.style.blockSize = height ?? '';
    }
  }

  /** Return the offset of a cell in the notebook and its height, in pixels. `top` is where the notebook begins. */
  private measure(cell: Cell, top: number): [number, number] {
    const box = cell.node.getBoundingClientRect();
    // Lab hides some cells that cannot be seen, and removes others.
    if (box.height > 0) {
      return [box.top - top, box.height];
    }
    const index = this.notebook.widgets.indexOf(cell);
    const { viewModel } = this.notebook as unknown as { readonly viewModel: Estimates };
    return viewModel.getSpan(index, index);
  }
}

/** Whether two marks have the same cell and the same colour. */
function isSameMark(marked: MarkedCell, other: MarkedCell | undefined): boolean {
  return marked.cell === other?.cell && marked.tone === other.tone;
}
