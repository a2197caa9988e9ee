/**
 * Shows all changes of one notebook together: the review bar at its bottom, which goes from change to change, and the
 * marks in the strip at its right edge.
 *
 * `controller.ts` says which changes are shown in the cells, and what keeps and undoes them.
 */

import { Cell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { BoxLayout } from '@lumino/widgets';

import { CellBar, Tone } from './cell_bar';
import { HunkPainter } from './hunk_painter';
import { Hunk } from './hunks';
import type { Note } from './notes';
import type { ReviewBarActions, ReviewCounts } from './ReviewBar';
import { ReviewBarWidget } from './ReviewBarWidget';
import { MarkedCell, ScrollMap } from './scroll_map';
import { findStop, isSameStop, listStops, Position, Stop } from './change_stops';
import { isSourceHidden } from '../notebook/unfold_cell';

/** For how many frames a change to which the user has gone gets the focus back, if Lab takes it away. */
const WATCHED_FRAMES = 30;

/** A note about which the user has to decide, as it is shown in its cell. */
export interface OpenNote {
  readonly note: Note;
  readonly cell: Cell;
  readonly bar: CellBar;
  /** The hunks of an edit that are not decided; undefined for another note. */
  readonly hunks: readonly Hunk[] | undefined;
}

/** What the overview can do to the notebook. */
export interface OverviewActions extends Pick<ReviewBarActions, 'keepAll' | 'undoAll'> {
  /** Shows the source of a cell that is rendered or folded. */
  readonly unfold: (cell: Cell) => void;
}

/** The bar and the marks of one notebook, until `dispose` is called. */
export class NotebookOverview {
  private notes: readonly OpenNote[] = [];
  private stops: readonly Stop[] = [];
  /** The stop to which the user has gone last. */
  private last: Position['last'];
  private busy = false;
  private readonly bar: ReviewBarWidget;
  private readonly map: ScrollMap;

  constructor(
    private readonly panel: NotebookPanel,
    private readonly painter: HunkPainter,
    private readonly actions: OverviewActions,
    trans: TranslationBundle
  ) {
    const { keepAll, undoAll } = actions;
    this.bar = new ReviewBarWidget({ keepAll, undoAll, goTo: direction => void this.goTo(direction) }, trans);
    BoxLayout.setStretch(this.bar, 0);
    // Below the notebook, so that what the user reads does not move when the bar appears.
    (panel.layout as BoxLayout).addWidget(this.bar);
    this.map = new ScrollMap(panel.content, cell => void this.goToCell(cell));
  }

  /** Remove the bar and the marks. If the bar had the focus, the notebook gets it. */
  dispose(): void {
    const hadFocus = this.bar.node.contains(document.activeElement);
    this.map.dispose();
    this.bar.dispose();
    if (hadFocus && !this.panel.isDisposed) {
      this.panel.content.activate();
    }
  }

  /** Show these notes, of which there is at least one. `busy`: see `ReviewCounts`. */
  show(notes: readonly OpenNote[], busy: boolean): void {
    const { widgets } = this.panel.content;
    const indexes = new Map(widgets.map((cell, index) => [cell, index]));
    this.notes = notes;
    this.busy = busy;
    this.stops = listStops(notes.map(({ note, cell, hunks }) => ({ note, cell: indexes.get(cell) ?? 0, hunks })));
    this.bar.fill(this.count());
    this.map.show(listMarks(notes));
  }

  /** Go to the next change (1) or the previous one (-1): scroll to it and give it the focus. */
  async goTo(direction: 1 | -1): Promise<void> {
    const position = { last: this.last, cell: this.panel.content.activeCellIndex };
    const index = findStop(this.stops, position, direction);
    if (index !== undefined) {
      await this.showStop(index);
    }
  }

  /** Go to the first change of a cell. */
  private async goToCell(cell: Cell): Promise<void> {
    const index = this.stops.findIndex(stop => stop.cell === this.panel.content.widgets.indexOf(cell));
    if (index >= 0) {
      await this.showStop(index);
    }
  }

  /** Scroll to a stop and give it the focus. A cell whose source is hidden is unfolded. */
  private async showStop(index: number): Promise<void> {
    const stop = this.stops[index];
    const open = this.notes.find(({ note }) => note.key === stop?.note.key);
    if (stop === undefined || open === undefined) {
      return;
    }
    this.last = { stop, index };
    this.bar.fill(this.count());
    const { content } = this.panel;
    const { cell, bar, hunks } = open;
    content.deselectAll();
    // In its edit mode a notebook gives the focus to the editor of the active cell again and again.
    content.mode = 'command';
    content.activeCellIndex = stop.cell;
    // Lab rejects this when another scroll begins. Then what follows is still right.
    await content.scrollToItem(stop.cell, 'smart').catch(() => undefined);
    await cell.ready;
    if (hunks !== undefined && isSourceHidden(cell)) {
      this.actions.unfold(cell);
    }
    const hunk = hunks?.find(({ id }) => id === stop.hunk);
    const focusChange = async (): Promise<void> => {
      const target = (hunk === undefined ? undefined : await this.painter.reveal(cell, hunk)) ?? bar.node;
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: 'nearest' });
    };
    await focusChange();
    // After a far scroll Lab draws the cells anew for a moment. Then the focus is lost, and nothing else has it.
    for (let frame = 0; frame < WATCHED_FRAMES && this.last.stop === stop; frame++) {
      await new Promise(requestAnimationFrame);
      if (document.activeElement === document.body || document.activeElement === cell.node) {
        await focusChange();
      }
    }
  }

  private count(): ReviewCounts {
    const { stops, last, busy } = this;
    const made = stops.filter(({ note }) => note.owner.kind === 'changes').length;
    const shown = last === undefined ? -1 : stops.findIndex(stop => isSameStop(stop, last.stop));
    return { made, proposed: stops.length - made, shown: shown < 0 ? undefined : shown + 1, busy };
  }
}

/** Return one mark for each cell with a note. Its colour is that of the first note. */
function listMarks(notes: readonly OpenNote[]): readonly MarkedCell[] {
  const tones = new Map<Cell, Tone>();
  for (const { note, cell } of notes) {
    if (!tones.has(cell)) {
      tones.set(cell, getTone(note));
    }
  }
  return [...tones].map(([cell, tone]) => ({ cell, tone }));
}

/** Return the colour in which a note is shown. */
export function getTone({ kind }: Note): Tone {
  return kind === 'insert' ? 'added' : kind === 'delete' ? 'removed' : 'changed';
}
