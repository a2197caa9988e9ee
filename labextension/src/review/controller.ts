/**
 * Shows what the assistant wants to change and what it changed in the cells themselves, to be decided there.
 *
 * The session knows what there is (`notes.ts` reads it off). Each edit has a `CellDiff`, which lives as long as the
 * server lists the change, so that decided hunks stay decided while the cell is edited further.
 */

import type { ISharedCell } from '@jupyter/ydoc';
import { Cell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { BarButton, BarContent, CellBar, insertBar } from './cell_bar';
import { CellDiff } from './cell_diff';
import { keepChanges, loadChanges, undoChanges } from '../chat/changes';
import { toExactText } from '../render/format';
import { HunkPainter } from './hunk_painter';
import { Look } from './hunk_view';
import { LiveNotebooks } from '../notebook/live_notebooks';
import { TabStorage } from '../chat/tab_storage';
import { Note, listNotes } from './notes';
import { Session } from '../chat/session';
import { isHidden, CellUnfolder } from '../notebook/unfold_cell';

type Edit = Extract<Note, { readonly what: 'edit' }>;

interface ReviewedEdit {
  readonly diff: CellDiff;
  readonly cell: ISharedCell;
  readonly look: Look;
  settled: boolean;
  /** Its hunks were shown once. If the user hides them afterwards, they stay hidden. */
  seen: boolean;
}

export class ReviewController {
  private readonly edits = new Map<string, ReviewedEdit>();
  private readonly bars = new Map<Cell, Map<string, CellBar>>();
  private painted = new Set<Cell>();
  /** The cells of the changes in the server's last list, by the keys of their notes. */
  private listed: ReadonlyMap<string, string> = new Map();
  private readonly followed = new WeakSet<NotebookPanel>();
  private readonly unfolding = new CellUnfolder(() => {
    this.refreshLater();
  });
  private due = false;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly session: Session,
    private readonly tracker: INotebookTracker,
    private readonly notebooks: LiveNotebooks,
    private readonly painter: HunkPainter,
    private readonly storage: TabStorage,
    private readonly trans: TranslationBundle
  ) {
    this.unsubscribe = session.subscribe(this.refreshLater);
    tracker.widgetAdded.connect(this.refreshLater);
    this.refreshLater();
  }

  dispose(): void {
    this.unsubscribe();
    this.tracker.widgetAdded.disconnect(this.refreshLater);
  }

  /** Refresh once for all changes of this turn of the event loop. */
  private readonly refreshLater = (): void => {
    if (!this.due) {
      this.due = true;
      queueMicrotask(() => {
        this.due = false;
        this.refresh();
      });
    }
  };

  private refresh(): void {
    const chats = Object.values(this.session.state.chats);
    const seen = new Set<string>();
    const shown = new Map<Cell, Map<string, CellBar>>();
    const listed = new Map<string, string>();
    const before = this.painted;
    this.painted = new Set();
    this.tracker.forEach(panel => {
      const cells = panel.isDisposed ? undefined : panel.content.model?.sharedModel.cells;
      if (cells !== undefined) {
        this.follow(panel);
        for (const note of listNotes(panel.context.localPath, cells, chats)) {
          seen.add(note.key);
          if (note.owner.kind === 'changes' && note.what !== 'delete') {
            listed.set(note.key, note.anchor);
          }
          this.show(panel, note, shown);
        }
      }
    });
    for (const [key, kept] of this.edits) {
      if (!seen.has(key)) {
        this.edits.delete(key);
        kept.diff.dispose();
      }
    }
    before.forEach(cell => {
      if (!this.painted.has(cell)) {
        this.painter.clear(cell, 'review');
      }
    });
    this.unfolding.renderDecided(this.painted);
    this.clear(shown);
    this.unmark(listed);
  }

  private follow(panel: NotebookPanel): void {
    if (!this.followed.has(panel)) {
      this.followed.add(panel);
      panel.content.model?.cells.changed.connect(this.refreshLater);
    }
  }

  private show(panel: NotebookPanel, note: Note, shown: Map<Cell, Map<string, CellBar>>): void {
    const cell = panel.content.widgets.find(({ model }) => model.id === note.anchor);
    if (cell === undefined) {
      return;
    }
    const kept = note.what === 'edit' ? this.findEdit(panel, note, cell) : undefined;
    if (kept !== undefined) {
      // Proposed changes are shown first. Those that were made wait until the proposed ones are decided.
      if (kept.diff.hunks.length === 0 || this.painted.has(cell)) {
        return;
      }
      this.painted.add(cell);
      if (note.what === 'edit') {
        this.unfold(note, cell, kept);
      }
      this.painter.paint(cell, 'review', kept.diff.hunks, kept.look);
    }
    const bar = this.bars.get(cell)?.get(note.key) ?? new CellBar(this.trans.__('Changes of the assistant'));
    bar.fill(this.buildContent(note, cell, kept));
    shown.set(cell, (shown.get(cell) ?? new Map<string, CellBar>()).set(note.key, bar));
    void cell.ready.then(
      () => {
        if (!bar.isDisposed && bar.parent === null && !cell.isDisposed) {
          insertBar(cell, bar, note.below ? 'below' : sourceOf(note) === undefined ? 'within' : 'above');
        }
      },
      () => undefined
    );
  }

  /** Unfold a change that waits for approval, so that it is seen. One that was made is only unfolded on request. */
  private unfold({ owner }: Edit, cell: Cell, kept: ReviewedEdit): void {
    this.unfolding.follow(cell);
    if (owner.kind === 'call' && !kept.seen) {
      this.unfolding.showSource(cell);
    }
    kept.seen = true;
  }

  private findEdit(panel: NotebookPanel, note: Edit, { model }: Cell): ReviewedEdit {
    const cell = model.sharedModel;
    const before = this.edits.get(note.key);
    if (before?.cell === cell) {
      return before;
    }
    // A cell that was moved is another object in the model.
    before?.diff.dispose();
    const side = note.owner.kind === 'call' ? 'proposed' : 'made';
    const diff = new CellDiff(cell, side, source => {
      this.notebooks.writeSource(cell, source);
    });
    const kept: ReviewedEdit = { diff, cell, look: this.createLook(panel, note, diff), settled: false, seen: false };
    this.edits.set(note.key, kept);
    diff.compare(note.base, note.other);
    this.storage.getKeptHunks(note.key).forEach(id => {
      diff.drop(id);
    });
    diff.watchers.add(() => {
      this.storage.setKeptHunks(note.key, diff.hunks.length === 0 ? [] : diff.dropped);
      this.settle(note, kept);
      this.refreshLater();
    });
    return kept;
  }

  private createLook(panel: NotebookPanel, { owner }: Edit, diff: CellDiff): Look {
    const { trans } = this;
    const focusThen = (act: (id: number) => void) => (id: number) => {
      panel.content.activate();
      act(id);
    };
    const touched = trans.__('You have edited this part since');
    if (owner.kind === 'call') {
      return { side: 'proposed', choices: [], caption: trans.__('Proposed'), touched };
    }
    return {
      side: 'made',
      caption: trans.__('Text before the change'),
      touched,
      choices: [
        {
          label: trans.__('Keep'),
          act: focusThen(id => {
            diff.drop(id);
          })
        },
        {
          label: trans.__('Undo'),
          act: focusThen(id => {
            diff.apply(id);
          })
        }
      ]
    };
  }

  /** Tell the server when the last hunk of a change is decided. */
  private settle({ owner, other }: Edit, kept: ReviewedEdit): void {
    if (owner.kind !== 'changes' || kept.diff.hunks.length > 0 || !kept.diff.isBegun || kept.settled) {
      kept.settled &&= kept.diff.hunks.length === 0;
      return;
    }
    kept.settled = true;
    const { chatId, changes } = owner;
    if (kept.diff.text === other) {
      void loadChanges(this.session, chatId);
    } else {
      void keepChanges(this.session, changes, chatId);
    }
  }

  /**
   * Remove the marks of cells whose changes were decided, here or in the panel. Undoing a move marks the cell again.
   */
  private unmark(listed: ReadonlyMap<string, string>): void {
    const open = new Set(listed.values());
    const decided = new Set([...this.listed].flatMap(([key, id]) => (listed.has(key) || open.has(id) ? [] : [id])));
    this.listed = listed;
    if (decided.size > 0) {
      this.tracker.forEach(({ content }) => {
        content.widgets.forEach(cell => {
          if (decided.has(cell.model.id)) {
            this.notebooks.marks.remove(cell);
          }
        });
      });
    }
  }

  private clear(shown: Map<Cell, Map<string, CellBar>>): void {
    for (const [cell, bars] of this.bars) {
      for (const [key, bar] of bars) {
        if (shown.get(cell)?.get(key) !== bar) {
          const hadFocus = bar.node.contains(document.activeElement);
          bar.dispose();
          if (hadFocus) {
            this.tracker.currentWidget?.content.activate();
          }
        }
      }
    }
    this.bars.clear();
    shown.forEach((bars, cell) => this.bars.set(cell, bars));
  }

  private buildContent(note: Note, cell: Cell, kept: ReviewedEdit | undefined): BarContent {
    const source = sourceOf(note);
    const words =
      note.owner.kind === 'call'
        ? this.addWarning(this.describeProposal(note, cell), note.owner.loads)
        : this.describeChange(note, kept);
    const tone = note.what === 'insert' ? 'added' : note.what === 'delete' ? 'removed' : 'changed';
    const hidden = kept !== undefined && isHidden(cell);
    const buttons = [...(hidden ? [this.createShowButton(cell)] : []), ...this.listButtons(note, kept)];
    return { tone, words, buttons, ...(source !== undefined && { source }) };
  }

  private addWarning(words: string, loads: string | undefined): string {
    return loads === undefined
      ? words
      : this.trans.__('%1. As soon as the cell is shown, the page loads: %2', words, toExactText(loads));
  }

  private describeProposal(note: Note, cell: Cell): string {
    const { trans } = this;
    switch (note.what) {
      case 'edit':
        return cell.model.sharedModel.getSource() === note.base
          ? trans.__('The assistant wants to change this cell')
          : trans.__(
              'The assistant wants to change this cell, but the cell has changed since then. If you approve, nothing is changed and the assistant is told why.'
            );
      case 'insert':
        return trans.__('The assistant wants to insert a cell here');
      case 'delete':
        return trans.__('The assistant wants to delete this cell');
      case 'move':
        return trans.__('The assistant wants to move this cell from place %1 to %2', note.from, note.to);
    }
  }

  private describeChange(note: Note, kept: ReviewedEdit | undefined): string {
    const { trans } = this;
    switch (note.what) {
      case 'edit': {
        const count = kept?.diff.hunks.length ?? 0;
        return trans._n('%1 change of the assistant', '%1 changes of the assistant', count);
      }
      case 'insert':
        return trans.__('Inserted by the assistant');
      case 'delete':
        return trans.__('The assistant deleted a cell here');
      case 'move':
        return trans.__('Moved by the assistant from place %1 to %2', note.from, note.to);
    }
  }

  private listButtons({ owner }: Note, kept: ReviewedEdit | undefined): BarButton[] {
    const { trans, session } = this;
    if (owner.kind === 'call') {
      const { id, chatId } = owner;
      return [
        {
          label: trans.__('Approve'),
          main: true,
          act: () => {
            session.approve(id, false, chatId);
          }
        },
        {
          label: trans.__('Reject'),
          act: () => {
            session.reject(id, '', chatId);
          }
        }
      ];
    }
    const { changes, chatId } = owner;
    const several = kept !== undefined && kept.diff.hunks.length > 1;
    return [
      {
        label: several ? trans.__('Keep all') : trans.__('Keep'),
        act: () => {
          if (kept === undefined) {
            void keepChanges(session, changes, chatId);
          } else {
            kept.diff.dropAll();
          }
        }
      },
      {
        label: several ? trans.__('Undo all') : trans.__('Undo'),
        act: () => {
          const whole = kept === undefined || (!kept.diff.isBegun && kept.diff.text === changes.at(-1)?.text?.after);
          // The server undoes a whole change with its outputs and informs the model, but not while a turn is running.
          if (whole && changes.every(({ refused }) => refused === undefined) && this.isIdle(chatId)) {
            void undoChanges(session, changes, chatId);
          } else {
            kept?.diff.applyAll();
          }
        }
      }
    ];
  }

  private isIdle(chatId: Parameters<typeof loadChanges>[1]): boolean {
    return this.session.state.chats[String(chatId)]?.status === 'idle';
  }

  private createShowButton(cell: Cell): BarButton {
    return {
      label: this.trans.__('Show'),
      act: () => {
        this.unfolding.show(cell);
        this.refreshLater();
      }
    };
  }
}

/** Return the source of a cell that does not exist; undefined for a note about an existing one. */
function sourceOf(note: Note): string | undefined {
  return note.what === 'insert' || note.what === 'delete' ? note.source : undefined;
}
