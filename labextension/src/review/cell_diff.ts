/**
 * Compares the source of a cell with another text. The result is a list of hunks: groups of neighbouring lines that
 * differ. The user applies or drops them one by one. Applying a hunk puts the other text in its place. Dropping it
 * leaves the source as it is. When the user types in the cell, the hunks are moved to their new places.
 *
 * When hunks are applied, the texts before and after that are remembered with their hunks. So the hunks come back when
 * the user undoes that change in the editor, and disappear again when the user redoes it. A dropped hunk never comes
 * back. This module knows no editor and no server: `hunk_view.ts` draws the hunks, `hunks.ts` computes them.
 */

import type { ISharedCell } from '@jupyter/ydoc';

import {
  applyAllHunks,
  applyHunk,
  findHunksSoFar,
  computeDelta,
  dropHunk,
  Hunk,
  TextWithHunks,
  findHunks,
  mapHunks
} from './hunks';
import type { CellPart } from './notes';

/**
 * Says which text is in the cell. `made`: the assistant's text, which is compared with the text before the change.
 * `proposed`: the user's text, which is compared with the text that the assistant proposes.
 */
export type Side = 'made' | 'proposed';

/** The parts of a cell that this module uses. */
type SourceCell = Pick<ISharedCell, 'changed' | 'getSource'>;

/** The hunks of one cell. It follows the source of the cell until `dispose` is called. */
export class CellDiff {
  /** Called whenever the hunks have changed. */
  readonly subscribers = new Set<() => void>();
  /** The source of the cell, with the hunks that the user has not decided. */
  private current: TextWithHunks;
  /** The ids of all hunks that were applied or dropped. */
  private readonly decidedIds = new Set<number>();
  /** The ids of the hunks that were dropped. */
  private readonly droppedIds = new Set<number>();
  /** The hunks of each text that the cell had right before or after hunks were applied, by the text. */
  private readonly hunksByText = new Map<string, readonly Hunk[]>();
  /** Whether this object is changing the source now. */
  private isWriting = false;

  /** `write` writes a text into the cell, as one step to undo. */
  constructor(
    private readonly cell: SourceCell,
    readonly side: Side,
    private readonly write: (source: string) => void
  ) {
    this.current = { text: cell.getSource(), hunks: [] };
    cell.changed.connect(this.handleChange);
  }

  /** Stop following the source of the cell. */
  dispose(): void {
    this.cell.changed.disconnect(this.handleChange);
    this.subscribers.clear();
  }

  /** The source of the cell. */
  get text(): string {
    return this.current.text;
  }

  /** The hunks that the user has not decided. */
  get hunks(): readonly Hunk[] {
    return this.current.hunks;
  }

  /** Whether the user has decided about at least one hunk. */
  get hasDecisions(): boolean {
    return this.decidedIds.size > 0;
  }

  /** The ids of the hunks that were dropped. Dropping a hunk leaves the text as it is. */
  get droppedHunks(): readonly number[] {
    return [...this.droppedIds];
  }

  /**
   * Compare the source of the cell with `other`, a changed version of the source `base`. The user may have edited the
   * cell since it had the source `base`. `isComplete`: `other` is complete. If it is not, because a model is still
   * writing it, the lines that it does not have yet do not count as removed.
   */
  compare(base: string, other: string, isComplete = true): void {
    const hunks = isComplete ? findHunks(base, other) : findHunksSoFar(base, other);
    const source = this.cell.getSource();
    this.current = mapHunks({ text: base, hunks }, computeDelta(base, source));
    this.notifySubscribers();
  }

  /**
   * Use the parts into which the server has divided a proposed edit of the source `base` as the hunks. The index of a
   * part is the id of its hunk.
   */
  showParts(base: string, parts: readonly CellPart[]): void {
    // The server counts an emoji as one character, and a string of JavaScript counts it as two.
    const characters = Array.from(base);
    const toOffset = (count: number): number => characters.slice(0, count).join('').length;
    const hunks = parts.map(({ start, end, text, index }) => ({
      id: index,
      from: toOffset(start),
      to: toOffset(end),
      otherText: text,
      isEdited: false
    }));
    this.current = mapHunks({ text: base, hunks }, computeDelta(base, this.cell.getSource()));
    this.notifySubscribers();
  }

  /** Put the other text of a hunk into the cell. */
  apply(id: number): void {
    this.decidedIds.add(id);
    this.setCurrent(applyHunk(this.current, id));
  }

  /** Apply all hunks except those that the user has edited. */
  applyAll(): void {
    for (const { id, isEdited } of this.current.hunks) {
      if (!isEdited) {
        this.decidedIds.add(id);
      }
    }
    this.setCurrent(applyAllHunks(this.current));
  }

  /** Remove a hunk and leave the text of the cell as it is. */
  drop(id: number): void {
    this.decidedIds.add(id);
    this.droppedIds.add(id);
    // When the user undoes that other hunks were applied, this hunk must not come back.
    for (const [text, hunks] of this.hunksByText) {
      this.hunksByText.set(text, dropHunk({ text, hunks }, id).hunks);
    }
    this.setCurrent(dropHunk(this.current, id));
  }

  /** Remove all hunks and leave the text of the cell as it is. */
  dropAll(): void {
    for (const { id } of this.current.hunks) {
      this.drop(id);
    }
  }

  /** Call all subscribers. */
  private notifySubscribers(): void {
    for (const subscriber of [...this.subscribers]) {
      subscriber();
    }
  }

  /** Make `after` the current text, and write it into the cell if it differs from the text there. */
  private setCurrent(after: TextWithHunks): void {
    const before = this.current;
    this.current = after;
    if (after.text !== before.text) {
      this.hunksByText.set(before.text, before.hunks);
      this.hunksByText.set(after.text, after.hunks);
      this.isWriting = true;
      try {
        this.write(after.text);
      } finally {
        this.isWriting = false;
      }
    }
    this.notifySubscribers();
  }

  /** Update the hunks when the user has typed, undone or redone something in the cell. */
  private readonly handleChange = (_: unknown, { sourceChange }: { readonly sourceChange?: unknown }): void => {
    if (sourceChange === undefined || this.isWriting) {
      return;
    }
    const text = this.cell.getSource();
    // If the cell had this text right before or after hunks were applied, the user has undone or redone that.
    const remembered = this.hunksByText.get(text);
    const reported = mapHunks(this.current, sourceChange as Parameters<typeof mapHunks>[1]);
    // When several changes are reported at once, the reported delta does not lead to the present text.
    const moved = reported.text === text ? reported : mapHunks(this.current, computeDelta(this.current.text, text));
    this.current = remembered === undefined ? moved : { text, hunks: remembered };
    this.notifySubscribers();
  };
}
