/**
 * A cell against another text of it, hunk by hunk: decided by the user, moved along with what is typed.
 *
 * Of each decision the text before and after it is remembered with its hunks: when the user undoes it, or does it
 * again, they are there again.
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

/** Whether what stands in the cell is the assistant's, against what it was, or the user's, against what it would be. */
export type Side = 'made' | 'proposed';

type SourceCell = Pick<ISharedCell, 'changed' | 'getSource'>;

export class CellDiff {
  /** Called whenever there are other hunks. */
  readonly watchers = new Set<() => void>();
  private now: TextWithHunks;
  private readonly gone = new Set<number>();
  private readonly left = new Set<number>();
  private readonly known = new Map<string, readonly Hunk[]>();
  private writing = false;

  /** `write` makes a text the cell's, as one step to undo. */
  constructor(
    private readonly cell: SourceCell,
    readonly side: Side,
    private readonly write: (source: string) => void
  ) {
    this.now = { text: cell.getSource(), hunks: [] };
    cell.changed.connect(this.follow);
  }

  dispose(): void {
    this.cell.changed.disconnect(this.follow);
    this.watchers.clear();
  }

  get text(): string {
    return this.now.text;
  }

  get hunks(): readonly Hunk[] {
    return this.now.hunks;
  }

  /** Whether any of it was decided. */
  get isBegun(): boolean {
    return this.gone.size > 0;
  }

  /** The hunks that were left as they are. */
  get dropped(): readonly number[] {
    return [...this.left];
  }

  /** `base` is what the cell was when `other` was made; `whole`: there is no more of it to come. */
  compare(base: string, other: string, whole = true): void {
    const hunks = whole ? findHunks(base, other) : findHunksSoFar(base, other);
    const source = this.cell.getSource();
    this.now = mapHunks({ text: base, hunks }, computeDelta(base, source));
    this.notifyWatchers();
  }

  apply(id: number): void {
    this.gone.add(id);
    this.decide(applyHunk(this.now, id));
  }

  /** All but those that the user has written in. */
  applyAll(): void {
    for (const { id, touched } of this.now.hunks) {
      if (!touched) {
        this.gone.add(id);
      }
    }
    this.decide(applyAllHunks(this.now));
  }

  drop(id: number): void {
    this.gone.add(id);
    this.left.add(id);
    // Undoing something else must not ask about it again.
    for (const [text, hunks] of this.known) {
      this.known.set(text, dropHunk({ text, hunks }, id).hunks);
    }
    this.decide(dropHunk(this.now, id));
  }

  dropAll(): void {
    for (const { id } of this.now.hunks) {
      this.drop(id);
    }
  }

  private notifyWatchers(): void {
    for (const watcher of [...this.watchers]) {
      watcher();
    }
  }

  private decide(after: TextWithHunks): void {
    const before = this.now;
    this.now = after;
    if (after.text !== before.text) {
      this.known.set(before.text, before.hunks);
      this.known.set(after.text, after.hunks);
      this.writing = true;
      try {
        this.write(after.text);
      } finally {
        this.writing = false;
      }
    }
    this.notifyWatchers();
  }

  private readonly follow = (_: unknown, { sourceChange }: { readonly sourceChange?: unknown }): void => {
    if (sourceChange === undefined || this.writing) {
      return;
    }
    const text = this.cell.getSource();
    const again = this.known.get(text);
    const moved = mapHunks(this.now, sourceChange as Parameters<typeof mapHunks>[1]);
    // What was told of the change and what is there differ when several changes are told at once.
    const sound = moved.text === text ? moved : mapHunks(this.now, computeDelta(this.now.text, text));
    this.now = again === undefined ? sound : { text, hunks: again };
    this.notifyWatchers();
  };
}
