/**
 * Shows the changes of the assistant in the cells of the notebook, where the user decides about them. A proposed change
 * waits for approval, and has the buttons Approve and Reject. A finished change was made already, and has the buttons
 * Keep and Undo. A settled change is a finished change that needs no decision. It has the buttons Undo and Hide.
 *
 * The words of this module:
 *
 * - A note is one change at one cell. `notes.ts` finds the notes in the state of the session.
 * - The owner of a note is what the user decides about: a waiting tool call, or changes that were made.
 * - A bar is the line in the cell that describes the note, with its buttons (`cell_bar.ts`).
 * - A hunk is a group of neighbouring lines of an edit, which can be decided by itself (`hunk_painter.ts` draws it).
 * - A part is a hunk of a proposed edit. The server has divided the edit into its parts. The user can leave out parts
 *   and approve the rest.
 *
 * The controller draws everything again whenever the state changes. Each edit of a cell has a `CellDiff`, which exists
 * as long as the server lists the change. So a hunk that was decided stays decided while the user edits the cell.
 */

import type { ISharedCell } from '@jupyter/ydoc';
import { Cell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { BarButton, BarContent, CellBar, insertBar } from './cell_bar';
import { CellDiff } from './cell_diff';
import { keepChanges, loadChanges, undoChanges } from '../chat/changes';
import type { Change } from '../chat/types';
import { toExactText } from '../render/format';
import { HunkPainter } from './hunk_painter';
import { HunkStyle } from './hunk_view';
import { Hunk } from './hunks';
import { LiveNotebooks } from '../notebook/live_notebooks';
import { makeCallKey } from '../chat/approval_rules';
import { TabStorage } from '../chat/tab_storage';
import { CallOwner, Note, Owner, listNotes } from './notes';
import { getTone, NotebookOverview, OpenNote } from './overview';
import { Session } from '../chat/session';
import { listPartialCalls } from '../chat/state';
import { ChatId } from '../wire/protocol';
import { isSourceHidden, CellUnfolder } from '../notebook/unfold_cell';

/** A note about an edit of a cell's source. */
type EditNote = Extract<Note, { readonly kind: 'edit' }>;

/** The review of one edit of a cell. */
interface ReviewedEdit {
  /** The hunks of the edit, and the decisions about them. */
  readonly diff: CellDiff;
  /** The cell in the shared model of its notebook. */
  readonly cell: ISharedCell;
  /** How the hunks are drawn. */
  readonly style: HunkStyle;
  /** Whether the server knows that all hunks are decided. */
  isReported: boolean;
  /** Whether the hunks were shown once. If the user hides them afterwards, they stay hidden. */
  wasShown: boolean;
  /** The hunks that are drawn. They were made of the hunks `from` and the parts that were left out then. */
  drawnHunks?: { readonly from: readonly Hunk[]; readonly leftOut: readonly number[]; readonly hunks: readonly Hunk[] };
}

/** Shows the notes in all open notebooks, from its creation until `dispose` is called. */
export class ReviewController {
  /** The edits that are reviewed, by the keys of their notes. */
  private readonly edits = new Map<string, ReviewedEdit>();
  /** The bars that are shown in each cell, by the keys of their notes. */
  private readonly bars = new Map<Cell, Map<string, CellBar>>();
  /** The keys of the waiting calls for which `restoreLeftOut` was called. */
  private readonly restoredCalls = new Set<string>();
  /** The cells in which hunks are drawn. */
  private paintedCells = new Set<Cell>();
  /** The ids of the cells that had finished changes at the last refresh, by the keys of their notes. */
  private changedCellIds: ReadonlyMap<string, string> = new Map();
  /** The overviews of the notebooks in which changes are undecided. */
  private readonly overviews = new Map<NotebookPanel, NotebookOverview>();
  /** The notes about which the user has to decide, as they are shown in each notebook. */
  private openNotes = new Map<NotebookPanel, OpenNote[]>();
  /** The notebooks whose lists of cells are followed. */
  private readonly followedNotebooks = new WeakSet<NotebookPanel>();
  /** Shows the sources of cells that are rendered or collapsed. */
  private readonly unfolder = new CellUnfolder(() => {
    this.refreshLater();
  });
  /** Whether `refresh` will be called soon. */
  private isRefreshPlanned = false;
  /** Ends the subscription to the state of the session. */
  private readonly unsubscribe: () => void;

  /**
   * `painter` draws the hunks in the editors. `storage` remembers after a reload of the page which hunks were kept.
   * `showWaitingCall` brings the card of a waiting call to the front.
   */
  constructor(
    private readonly session: Session,
    private readonly tracker: INotebookTracker,
    private readonly notebooks: LiveNotebooks,
    private readonly painter: HunkPainter,
    private readonly storage: TabStorage,
    private readonly trans: TranslationBundle,
    private readonly showWaitingCall: (chatId: ChatId, id: string) => void
  ) {
    this.unsubscribe = session.subscribe(this.refreshLater);
    tracker.widgetAdded.connect(this.refreshLater);
    this.refreshLater();
  }

  /** Stop following the session and remove the review bars. */
  dispose(): void {
    this.unsubscribe();
    this.tracker.widgetAdded.disconnect(this.refreshLater);
    this.overviews.forEach(overview => {
      overview.dispose();
    });
    this.overviews.clear();
  }

  /** Refresh soon, once for all changes until then. */
  private readonly refreshLater = (): void => {
    if (!this.isRefreshPlanned) {
      this.isRefreshPlanned = true;
      queueMicrotask(() => {
        this.isRefreshPlanned = false;
        this.refresh();
      });
    }
  };

  /** Show the notes of all open notebooks, and remove what no note needs any more. */
  private refresh(): void {
    const chats = Object.values(this.session.state.chats);
    const noteKeys = new Set<string>();
    const shownBars = new Map<Cell, Map<string, CellBar>>();
    const changedCellIds = new Map<string, string>();
    const paintedBefore = this.paintedCells;
    this.paintedCells = new Set();
    this.openNotes = new Map();
    this.tracker.forEach(panel => {
      const cells = panel.isDisposed ? undefined : panel.content.model?.sharedModel.cells;
      if (cells !== undefined) {
        this.followCells(panel);
        for (const note of listNotes(panel.context.localPath, cells, chats)) {
          noteKeys.add(note.key);
          if (note.owner.kind === 'call') {
            this.restoreLeftOut(note.owner);
          }
          if (note.owner.kind === 'changes' && note.kind !== 'delete') {
            changedCellIds.set(note.key, note.anchorId);
          }
          this.showNote(panel, note, shownBars);
        }
      }
    });
    for (const [key, edit] of this.edits) {
      if (!noteKeys.has(key)) {
        this.edits.delete(key);
        edit.diff.dispose();
      }
    }
    paintedBefore.forEach(cell => {
      if (!this.paintedCells.has(cell)) {
        this.painter.clear(cell, 'review');
      }
    });
    this.unfolder.renderCellsExcept(this.paintedCells);
    this.removeOldBars(shownBars);
    this.removeDecidedMarks(changedCellIds);
    this.updateOverviews();
  }

  /** Show the overview of each notebook in which changes are undecided, and remove the others. */
  private updateOverviews(): void {
    for (const [panel, overview] of this.overviews) {
      if (!this.openNotes.has(panel)) {
        this.overviews.delete(panel);
        overview.dispose();
      }
    }
    for (const [panel, notes] of this.openNotes) {
      const overview = this.overviews.get(panel) ?? this.createOverview(panel);
      this.overviews.set(panel, overview);
      overview.show(notes, this.isBusy(notes));
    }
  }

  /** Create the overview of a notebook, with the functions that its buttons call. */
  private createOverview(panel: NotebookPanel): NotebookOverview {
    const actions = {
      keepAll: () => void this.keepAll(panel),
      undoAll: () => void this.undoAll(panel),
      unfold: this.unfoldCell
    };
    return new NotebookOverview(panel, this.painter, actions, this.trans);
  }

  /** Show the source of a cell that is rendered or collapsed, because the user wants to see its hunks. */
  private readonly unfoldCell = (cell: Cell): void => {
    this.unfolder.show(cell);
    this.refreshLater();
  };

  /** Whether a notebook has changes about which the user has to decide. */
  hasChanges(panel: NotebookPanel): boolean {
    return this.overviews.has(panel);
  }

  /** Go to the next change of a notebook (1) or the previous one (-1). */
  async goTo(panel: NotebookPanel, direction: 1 | -1): Promise<void> {
    await this.overviews.get(panel)?.goTo(direction);
  }

  /**
   * Whether all changes of a notebook can be kept or undone now. This is not possible while a turn is running in a chat
   * that made one of them: the turn may make changes that the user has not seen yet, and the server undoes nothing.
   */
  canDecideAll(panel: NotebookPanel): boolean {
    return !this.isBusy(this.openNotes.get(panel) ?? []);
  }

  /** Keep all finished changes of a notebook, if that is possible now. Proposed changes still wait for approval. */
  async keepAll(panel: NotebookPanel): Promise<void> {
    if (this.canDecideAll(panel)) {
      await this.keep(this.openNotes.get(panel) ?? []);
    }
  }

  /** Undo all finished changes of a notebook, if that is possible now. */
  async undoAll(panel: NotebookPanel): Promise<void> {
    if (this.canDecideAll(panel)) {
      await this.undo(this.openNotes.get(panel) ?? []);
    }
  }

  /** Refresh when the list of cells of a notebook changes. */
  private followCells(panel: NotebookPanel): void {
    if (!this.followedNotebooks.has(panel)) {
      this.followedNotebooks.add(panel);
      panel.content.model?.cells.changed.connect(this.refreshLater);
    }
  }

  /**
   * Show a note in its cell: a bar and, for an edit, the hunks. Add the bar to `shownBars`.
   *
   * A settled note, which needs no decision, has no hunks. If its change cannot be undone, it has no bar either.
   */
  private showNote(panel: NotebookPanel, note: Note, shownBars: Map<Cell, Map<string, CellBar>>): void {
    const cell = panel.content.widgets.find(({ model }) => model.id === note.anchorId);
    if (cell === undefined) {
      return;
    }
    const { owner } = note;
    const isSettled = owner.kind === 'changes' && owner.isSettled;
    if (isSettled && owner.changes.some(({ refused }) => refused !== undefined)) {
      return;
    }
    const edit = note.kind === 'edit' && !isSettled ? this.getEdit(panel, note, cell) : undefined;
    if (edit !== undefined) {
      // `listNotes` lists proposed changes first. Finished changes of the cell are shown when those are decided.
      if (edit.diff.hunks.length === 0 || this.paintedCells.has(cell)) {
        return;
      }
      this.paintedCells.add(cell);
      if (note.kind === 'edit') {
        this.unfoldOnce(note, cell, edit);
      }
      this.painter.paint(cell, 'review', listHunksToDraw(edit, owner), edit.style);
    }
    const bar = this.bars.get(cell)?.get(note.key) ?? new CellBar(this.trans.__('Changes of the assistant'));
    bar.fill(this.buildContent(note, cell, edit));
    if (!isSettled) {
      const openNote = { note, cell, bar, hunks: edit?.diff.hunks };
      this.openNotes.set(panel, [...(this.openNotes.get(panel) ?? []), openNote]);
    }
    shownBars.set(cell, (shownBars.get(cell) ?? new Map<string, CellBar>()).set(note.key, bar));
    void cell.ready.then(
      () => {
        // The bar may have been removed or inserted while the cell was not ready.
        if (!bar.isDisposed && bar.parent === null && !cell.isDisposed) {
          insertBar(
            cell,
            bar,
            note.isBelowAnchor ? 'below' : getMissingSource(note) === undefined ? 'within' : 'above'
          );
        }
      },
      () => undefined
    );
  }

  /** If the change waits for approval, show the source of its cell, but only once. Otherwise the user can show it. */
  private unfoldOnce({ owner }: EditNote, cell: Cell, edit: ReviewedEdit): void {
    this.unfolder.follow(cell);
    if (owner.kind === 'call' && !edit.wasShown) {
      this.unfolder.showSource(cell);
    }
    edit.wasShown = true;
  }

  /** Return the review of an edit. A new one is created for a new edit, and when Lab has another model for the cell. */
  private getEdit(panel: NotebookPanel, note: EditNote, { model }: Cell): ReviewedEdit {
    const cell = model.sharedModel;
    const before = this.edits.get(note.key);
    if (before?.cell === cell) {
      return before;
    }
    // Moving a cell in Lab's model creates another object for it.
    before?.diff.dispose();
    const side = note.owner.kind === 'call' ? 'proposed' : 'made';
    const diff = new CellDiff(cell, side, source => {
      this.notebooks.writeSource(cell, source);
    });
    const edit: ReviewedEdit = {
      diff,
      cell,
      style: this.createStyle(panel, note, diff),
      isReported: false,
      wasShown: false
    };
    this.edits.set(note.key, edit);
    if (note.owner.kind === 'call' && note.owner.parts !== undefined) {
      diff.showParts(note.base, note.owner.parts);
    } else {
      diff.compare(note.base, note.otherText);
    }
    // The hunks that the user has kept before the page was reloaded.
    this.storage.getKeptHunks(note.key).forEach(id => {
      diff.drop(id);
    });
    diff.subscribers.add(() => {
      this.storage.setKeptHunks(note.key, diff.hunks.length === 0 ? [] : diff.droppedHunks);
      this.reportDecision(note, edit);
      this.refreshLater();
    });
    return edit;
  }

  /**
   * Return the style in which the hunks of an edit are drawn. A hunk of a finished change has the buttons Keep and
   * Undo. A proposal is approved or rejected as a whole, by the buttons in the bar. Before that, each hunk can be left
   * out.
   */
  private createStyle(panel: NotebookPanel, { owner }: EditNote, diff: CellDiff): HunkStyle {
    const { trans } = this;
    // Return a function that gives the focus to the notebook and then calls `act`. The button that has the focus is
    // removed, so the notebook gets the focus first. In its edit mode a notebook passes the focus to the editor. In its
    // command mode it does nothing while something in the cell has the focus.
    const withNotebookFocus = (act: (id: number) => void) => (id: number) => {
      const { content } = panel;
      content.activate();
      if (content.mode === 'command') {
        content.activeCell?.node.focus({ preventScroll: true });
      }
      act(id);
    };
    const editedNote = trans.__('You have edited this part since');
    if (owner.kind === 'call') {
      const { parts } = owner;
      const leaveOut = {
        label: trans.__('Leave out'),
        takeInLabel: trans.__('Take in again'),
        note: trans.__('Left out'),
        act: (id: number, leavesOut: boolean) => {
          this.leaveOut(owner, id, leavesOut);
        }
      };
      const style = { side: 'proposed' as const, buttons: [], caption: trans.__('Proposed'), editedNote };
      return parts === undefined ? style : { ...style, leaveOut };
    }
    return {
      side: 'made',
      caption: trans.__('Text before the change'),
      editedNote,
      buttons: [
        {
          label: trans.__('Keep'),
          act: withNotebookFocus(id => {
            diff.drop(id);
          })
        },
        {
          label: trans.__('Undo'),
          act: withNotebookFocus(id => {
            diff.apply(id);
          })
        }
      ]
    };
  }

  /** Return the indexes of the parts that the user leaves out of a waiting call. */
  private findLeftOut(chatId: ChatId, call: string): readonly number[] {
    const partialCalls = listPartialCalls(this.session.state, chatId);
    return partialCalls.find(other => other.id === call && other.chatId === chatId)?.leftOut ?? [];
  }

  /** Report a finished change to the server when the user has decided about its last hunk. */
  private reportDecision({ owner, otherText }: EditNote, edit: ReviewedEdit): void {
    if (edit.diff.hunks.length > 0) {
      // The user may have undone a decision. Then the decision about the last hunk is reported again.
      edit.isReported = false;
      return;
    }
    if (owner.kind !== 'changes' || !edit.diff.hasDecisions || edit.isReported) {
      return;
    }
    edit.isReported = true;
    const { chatId, changes } = owner;
    if (edit.diff.text === otherText) {
      // The cell has the text before the change again, so the server no longer lists the change.
      void loadChanges(this.session, chatId);
    } else {
      void keepChanges(this.session, changes, chatId);
    }
  }

  /**
   * Remove the marks of cells whose changes were decided, here or in the panel. A mark is a coloured edge that a cell
   * gets when the assistant changes it. Undoing a move sets the mark again, because the cell is inserted again.
   * `changedCellIds` has the ids of the cells that have finished changes now.
   */
  private removeDecidedMarks(changedCellIds: ReadonlyMap<string, string>): void {
    const undecidedCellIds = new Set(changedCellIds.values());
    const decidedCellIds = new Set(
      [...this.changedCellIds].flatMap(([key, id]) => (changedCellIds.has(key) || undecidedCellIds.has(id) ? [] : [id]))
    );
    this.changedCellIds = changedCellIds;
    if (decidedCellIds.size > 0) {
      this.tracker.forEach(({ content }) => {
        content.widgets.forEach(cell => {
          if (decidedCellIds.has(cell.model.id)) {
            this.notebooks.marks.remove(cell);
          }
        });
      });
    }
  }

  /** Remove the bars that are not in `shownBars`. If a removed bar had the focus, the notebook gets it. */
  private removeOldBars(shownBars: Map<Cell, Map<string, CellBar>>): void {
    for (const [cell, bars] of this.bars) {
      for (const [key, bar] of bars) {
        if (shownBars.get(cell)?.get(key) !== bar) {
          const hadFocus = bar.node.contains(document.activeElement);
          bar.dispose();
          if (hadFocus) {
            this.tracker.currentWidget?.content.activate();
          }
        }
      }
    }
    this.bars.clear();
    shownBars.forEach((bars, cell) => this.bars.set(cell, bars));
  }

  /** Return the description and the buttons of a note's bar. */
  private buildContent(note: Note, cell: Cell, edit: ReviewedEdit | undefined): BarContent {
    const source = getMissingSource(note);
    const description =
      note.owner.kind === 'call'
        ? this.addWarning(this.describeWholeCall(this.describeProposal(note, cell), note.owner), note.owner.loads)
        : this.describeChange(note, edit);
    const tone = getTone(note);
    const isHidden = edit !== undefined && isSourceHidden(cell);
    const buttons = [...(isHidden ? [this.createShowButton(cell)] : []), ...this.listButtons(note, edit)];
    return { tone, description, buttons, ...(source !== undefined && { source }) };
  }

  /** Add a warning to a description: what the page loads as soon as it shows the cell, for example a remote image. */
  private addWarning(description: string, loads: string | undefined): string {
    return loads === undefined
      ? description
      : this.trans.__('%1. As soon as the cell is shown, the page loads: %2', description, toExactText(loads));
  }

  /** Add to a description what else the same call does. Such a call is approved in the chat, which shows all of it. */
  private describeWholeCall(description: string, { changeCount, runsCells }: CallOwner): string {
    const { trans } = this;
    if (changeCount > 1) {
      return runsCells
        ? trans.__('%1. It is one of %2 changes, after which cells run', description, changeCount)
        : trans.__('%1. It is one of %2 changes', description, changeCount);
    }
    return runsCells ? trans.__('%1, and run it', description) : description;
  }

  /** Describe a change that waits for approval. */
  private describeProposal(note: Note, cell: Cell): string {
    const { trans } = this;
    switch (note.kind) {
      case 'edit':
        return cell.model.sharedModel.getSource() === note.base
          ? trans.__('The assistant wants to change this cell')
          : trans.__(
              'The assistant wants to change this cell, but the cell has changed since then. If you approve, the cell stays as it is, and the assistant learns why.'
            );
      case 'insert':
        return trans.__('The assistant wants to insert a cell here');
      case 'delete':
        return trans.__('The assistant wants to delete this cell');
      case 'move': {
        const description = trans.__('The assistant wants to move this cell from place %1 to %2', note.from, note.to);
        return isLeftOut(note.owner) ? trans.__('Left out: %1', description) : description;
      }
    }
  }

  /** Describe a change that was made. */
  private describeChange(note: Note, edit: ReviewedEdit | undefined): string {
    const { trans } = this;
    if (note.kind === 'edit' && edit === undefined) {
      return trans.__('Changed by the assistant');
    }
    switch (note.kind) {
      case 'edit': {
        const count = edit?.diff.hunks.length ?? 0;
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

  /**
   * Return the buttons of a bar. A proposal has Approve and Reject. It has only Reject if the user leaves out all of
   * its parts. If the call does more than this change, a button leads to the chat, which shows all of it. A finished
   * change has Keep and Undo, and a settled change has Undo and Hide.
   */
  private listButtons(note: Note, edit: ReviewedEdit | undefined): BarButton[] {
    const { trans, session } = this;
    const { owner } = note;
    if (owner.kind === 'call') {
      const { id, chatId, parts = [], movePart, leftOut, changeCount, runsCells } = owner;
      const keptCount = parts.length - leftOut.length;
      const approve: BarButton = {
        label: leftOut.length === 0 ? trans.__('Approve') : trans.__('Approve %1 of %2 parts', keptCount, parts.length),
        isMain: true,
        act: () => {
          session.approve(id, false, chatId);
        }
      };
      // What the whole call does is shown in the chat. It may do more than change this cell.
      const decideInChat: BarButton = {
        label: trans.__('Decide in the chat'),
        isMain: true,
        act: () => {
          this.showWaitingCall(chatId, id);
        }
      };
      const canApprove = leftOut.length === 0 || keptCount > 0;
      return [
        ...(changeCount > 1 || runsCells ? [decideInChat] : canApprove ? [approve] : []),
        ...(movePart === undefined ? [] : [this.createLeaveOutButton(owner, movePart)]),
        {
          label: trans.__('Reject'),
          act: () => {
            session.reject(id, '', chatId);
          }
        }
      ];
    }
    const { changes, chatId, isSettled } = owner;
    if (isSettled) {
      const undo = (): void => void undoChanges(session, changes, chatId);
      const hide = (): void => void keepChanges(session, changes, chatId);
      return [
        { label: trans.__('Undo'), act: undo },
        { label: trans.__('Hide'), title: trans.__('Keep this change, and take this line away'), act: hide }
      ];
    }
    const hasSeveralHunks = edit !== undefined && edit.diff.hunks.length > 1;
    return [
      {
        label: hasSeveralHunks ? trans.__('Keep all') : trans.__('Keep'),
        act: () => void this.keep([{ note }])
      },
      {
        label: hasSeveralHunks ? trans.__('Undo all') : trans.__('Undo'),
        act: () => void this.undo([{ note }])
      }
    ];
  }

  /** Create the button that leaves a move out of a proposal, or includes it again. `part` is the index of its part. */
  private createLeaveOutButton(owner: CallOwner, part: number): BarButton {
    const { trans } = this;
    const leavesOut = !isLeftOut(owner);
    return {
      label: leavesOut ? trans.__('Leave out') : trans.__('Take in again'),
      act: () => {
        this.leaveOut(owner, part, leavesOut);
      }
    };
  }

  /** Leave a part out of a waiting call (`leavesOut`), or include it again. `part` is the index of the part. */
  private leaveOut({ id: call, chatId }: CallOwner, part: number, leavesOut: boolean): void {
    const others = this.findLeftOut(chatId, call).filter(other => other !== part);
    const parts = leavesOut ? [...others, part].sort((a, b) => a - b) : others;
    this.storage.setLeftOut(makeCallKey(chatId, call), parts);
    this.session.leaveOut(call, parts, chatId);
  }

  /** Leave out again what the user has left out of a waiting call before the page was reloaded. Once for each call. */
  private restoreLeftOut({ id: call, chatId, leftOut }: CallOwner): void {
    const key = makeCallKey(chatId, call);
    if (this.restoredCalls.has(key)) {
      return;
    }
    this.restoredCalls.add(key);
    const parts = this.storage.getLeftOut(key);
    if (leftOut.length === 0 && parts.length > 0) {
      this.session.leaveOut(call, parts, chatId);
    }
  }

  /** Keep the changes of these notes. Proposed changes are left as they are. */
  private async keep(notes: readonly { readonly note: Note }[]): Promise<void> {
    const wholeChanges = new ChangesByChat();
    for (const { note } of notes) {
      const { owner, key } = note;
      const edit = this.edits.get(key);
      if (owner.kind === 'changes' && edit === undefined) {
        wholeChanges.add(owner.chatId, owner.changes);
      } else if (owner.kind === 'changes') {
        // When its last hunk is kept, the server is informed: see `reportDecision`.
        edit?.diff.dropAll();
      }
    }
    await wholeChanges.forEachChat((changes, chatId) => keepChanges(this.session, changes, chatId));
  }

  /**
   * Undo the changes of these notes. Proposed changes are left as they are.
   *
   * The server undoes a whole change, with the outputs of the cell, and informs the model. It refuses this while a turn
   * is running. Then only the text is undone, by this module. The same is done when the user has decided about single
   * hunks.
   */
  private async undo(notes: readonly { readonly note: Note }[]): Promise<void> {
    const wholeChanges = new ChangesByChat();
    for (const { note } of notes) {
      const { owner, key } = note;
      if (owner.kind === 'changes') {
        const edit = this.edits.get(key);
        const { changes, chatId } = owner;
        const isWhole =
          edit === undefined || (!edit.diff.hasDecisions && edit.diff.text === changes.at(-1)?.text?.after);
        if (isWhole && changes.every(({ refused }) => refused === undefined) && this.isIdle(chatId)) {
          wholeChanges.add(chatId, changes);
        } else {
          edit?.diff.applyAll();
        }
      }
    }
    await wholeChanges.forEachChat((changes, chatId) => undoChanges(this.session, changes, chatId));
  }

  /** Whether a turn is running in a chat that made one of these changes. Proposed changes do not count. */
  private isBusy(notes: readonly { readonly note: Note }[]): boolean {
    return notes.some(({ note }) => note.owner.kind === 'changes' && !this.isIdle(note.owner.chatId));
  }

  /** Whether no turn is running in a chat. */
  private isIdle(chatId: ChatId): boolean {
    return this.session.state.chats[String(chatId)]?.status === 'idle';
  }

  /** Create the button that shows the source of a cell whose source is hidden. */
  private createShowButton(cell: Cell): BarButton {
    return {
      label: this.trans.__('Show'),
      act: () => {
        this.unfoldCell(cell);
      }
    };
  }
}

/** Collects changes by their chats, so that one request to the server can contain all changes of a chat. */
class ChangesByChat {
  private readonly byChat = new Map<ChatId, readonly Change[]>();

  /** Add changes of a chat. */
  add(chatId: ChatId, changes: readonly Change[]): void {
    this.byChat.set(chatId, [...(this.byChat.get(chatId) ?? []), ...changes]);
  }

  /** Call `act` once for each chat, with its changes in the order in which they were made. */
  async forEachChat(act: (changes: readonly Change[], chatId: ChatId) => Promise<void>): Promise<void> {
    const calls = [...this.byChat].map(([chatId, changes]) =>
      act(
        changes.toSorted((left, right) => left.number - right.number),
        chatId
      )
    );
    await Promise.all(calls);
  }
}

/**
 * Return the hunks of an edit as they are drawn. In a proposal, the hunks that the user leaves out are marked. If
 * nothing has changed, the same list is returned again, and the painter does not draw it again.
 */
function listHunksToDraw(edit: ReviewedEdit, owner: Owner): readonly Hunk[] {
  const { hunks } = edit.diff;
  if (owner.kind !== 'call' || owner.parts === undefined) {
    return hunks;
  }
  const { leftOut } = owner;
  if (edit.drawnHunks?.from !== hunks || edit.drawnHunks.leftOut !== leftOut) {
    const markedHunks = hunks.map(hunk => ({ ...hunk, isLeftOut: leftOut.includes(hunk.id) }));
    edit.drawnHunks = { from: hunks, leftOut, hunks: markedHunks };
  }
  return edit.drawnHunks.hunks;
}

/** Whether the user leaves out the move that a note is about. */
function isLeftOut(owner: Owner): boolean {
  return owner.kind === 'call' && owner.movePart !== undefined && owner.leftOut.includes(owner.movePart);
}

/** Return the source of a cell that is to be inserted or was deleted; undefined for a note about an existing cell. */
function getMissingSource(note: Note): string | undefined {
  return note.kind === 'insert' || note.kind === 'delete' ? note.source : undefined;
}
