/**
 * Shows the review bar at the bottom of a notebook, whose buttons go from change to change, and the strip with marks at
 * its right edge.
 *
 * `controller.ts` decides which changes are shown, and keeps and undoes them.
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
import { findStop, isSameStop, isStopLeftOut, listStops, ReviewPosition, Stop } from './change_stops';
import { isSourceHidden } from '../notebook/unfold_cell';

/** For this number of frames, a change to which the user has gone gets the focus back if Lab takes it away. */
const WATCHED_FRAMES = 30;

/** A note about which the user has to decide, as it is shown in its cell. */
export interface OpenNote {
  readonly note: Note;
  readonly cell: Cell;
  readonly bar: CellBar;
  /** The hunks of an edit that are not decided; undefined for another note. */
  readonly hunks: readonly Hunk[] | undefined;
}

/** The functions that the overview calls when the user wants something done in the notebook. */
export interface OverviewActions extends Pick<ReviewBarActions, 'keepAll' | 'undoAll'> {
  /** Shows the source of a cell that is rendered or folded. */
  readonly unfold: (cell: Cell) => void;
}

/** The bar and the marks of one notebook, until `dispose` is called. */
export class NotebookOverview {
  /** The notes about which the user has to decide. */
  private notes: readonly OpenNote[] = [];
  /** The places of the changes of these notes, in the order of the notebook: see `change_stops.ts`. */
  private stops: readonly Stop[] = [];
  /** The stop to which the user has gone last. */
  private lastShown: ReviewPosition['lastShown'];
  /** Whether an answer is still being written: then the user cannot decide about all changes at once. */
  private busy = false;
  private readonly bar: ReviewBarWidget;
  /** The strip with the marks. */
  private readonly scrollMap: ScrollMap;

  constructor(
    private readonly panel: NotebookPanel,
    private readonly painter: HunkPainter,
    private readonly actions: OverviewActions,
    trans: TranslationBundle
  ) {
    const { keepAll, undoAll } = actions;
    this.bar = new ReviewBarWidget({ keepAll, undoAll, goTo: direction => void this.goTo(direction) }, trans);
    BoxLayout.setStretch(this.bar, 0);
    // The bar is below the notebook, so that the cells do not move when the bar appears.
    (panel.layout as BoxLayout).addWidget(this.bar);
    this.scrollMap = new ScrollMap(panel.content, cell => void this.goToCell(cell));
  }

  /** Remove the bar and the marks. If the bar had the focus, the notebook gets it. */
  dispose(): void {
    const hadFocus = this.bar.node.contains(document.activeElement);
    this.scrollMap.dispose();
    this.bar.dispose();
    if (hadFocus && !this.panel.isDisposed) {
      this.panel.content.activate();
    }
  }

  /** Show these notes, of which there is at least one. `busy`: an answer is still being written. */
  show(notes: readonly OpenNote[], busy: boolean): void {
    const { widgets } = this.panel.content;
    const indexes = new Map(widgets.map((cell, index) => [cell, index]));
    this.notes = notes;
    this.busy = busy;
    this.stops = listStops(notes.map(({ note, cell, hunks }) => ({ note, cellIndex: indexes.get(cell) ?? 0, hunks })));
    this.bar.fill(this.countChanges());
    this.scrollMap.show(listMarks(notes));
  }

  /** Go to the next change (1) or the previous one (-1): scroll to it and give it the focus. */
  async goTo(direction: 1 | -1): Promise<void> {
    const position = { lastShown: this.lastShown, cellIndex: this.panel.content.activeCellIndex };
    const index = findStop(this.stops, position, direction);
    if (index !== undefined) {
      await this.showStop(index);
    }
  }

  /** Go to the first change of a cell. */
  private async goToCell(cell: Cell): Promise<void> {
    const index = this.stops.findIndex(stop => stop.cellIndex === this.panel.content.widgets.indexOf(cell));
    if (index >= 0) {
      await this.showStop(index);
    }
  }

  /** Scroll to a stop and give it the focus. A cell whose source is hidden is unfolded. */
  private async showStop(index: number): Promise<void> {
    const stop = this.stops[index];
    const openNote = this.notes.find(({ note }) => note.key === stop?.note.key);
    if (stop === undefined || openNote === undefined) {
      return;
    }
    this.lastShown = { stop, index };
    this.bar.fill(this.countChanges());
    const { content } = this.panel;
    const { cell, bar, hunks } = openNote;
    content.deselectAll();
    // In its edit mode a notebook gives the focus to the editor of the active cell again and again.
    content.mode = 'command';
    content.activeCellIndex = stop.cellIndex;
    // Lab rejects this when another scroll begins. Then what follows is still right.
    await content.scrollToItem(stop.cellIndex, 'smart').catch(() => undefined);
    await cell.ready;
    if (hunks !== undefined && isSourceHidden(cell)) {
      this.actions.unfold(cell);
    }
    const hunk = hunks?.find(({ id }) => id === stop.hunkId);
    const focusChange = async (): Promise<void> => {
      const target = (hunk === undefined ? undefined : await this.painter.reveal(cell, hunk)) ?? bar.node;
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: 'nearest' });
    };
    await focusChange();
    // After a long scroll Lab draws the cells again for some time, and the focus is lost each time.
    for (let frame = 0; frame < WATCHED_FRAMES && this.lastShown.stop === stop; frame++) {
      await new Promise(requestAnimationFrame);
      if (document.activeElement === document.body || document.activeElement === cell.node) {
        await focusChange();
      }
    }
  }

  /** Return what the review bar shows. */
  private countChanges(): ReviewCounts {
    const { stops, lastShown, busy } = this;
    const madeCount = stops.filter(({ note }) => note.owner.kind === 'changes').length;
    const leftOutCount = stops.filter(isStopLeftOut).length;
    const shownIndex = lastShown === undefined ? -1 : stops.findIndex(stop => isSameStop(stop, lastShown.stop));
    const shownNumber = shownIndex < 0 ? undefined : shownIndex + 1;
    return { madeCount, proposedCount: stops.length - madeCount - leftOutCount, leftOutCount, shownNumber, busy };
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
