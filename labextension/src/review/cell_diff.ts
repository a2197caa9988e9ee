/**
 * Compares the source of a cell with another text, in hunks. The user decides about each; typing moves them along.
 *
 * The text before and after each decision is remembered with its hunks, so that they come back when the user undoes or
 * redoes the decision. Knows no editor and no server: hunks are drawn by `hunk_view.ts`, the arithmetic is in `hunks.ts`.
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

/**
 * `made`: the cell has the assistant's text and is compared with the old one. `proposed`: the cell has the user's text.
 */
export type Side = 'made' | 'proposed';

type SourceCell = Pick<ISharedCell, 'changed' | 'getSource'>;

export class CellDiff {
  /** Called whenever the hunks have changed. */
  readonly watchers = new Set<() => void>();
  private now: TextWithHunks;
  private readonly gone = new Set<number>();
  private readonly left = new Set<number>();
  private readonly known = new Map<string, readonly Hunk[]>();
  private writing = false;

  /** `write` writes a text into the cell, as one step to undo. */
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

  /** Whether any hunk was decided. */
  get isBegun(): boolean {
    return this.gone.size > 0;
  }

  /** The ids of the hunks that were dropped, which leaves the text as it is. */
  get dropped(): readonly number[] {
    return [...this.left];
  }

  /** Compare with `other`, which was made from the source `base`. `whole`: no more text of `other` will follow. */
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

  /** Apply all hunks but those that the user has edited. */
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
    // When the user undoes another decision, this hunk must not come back.
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
    // When several changes are reported at once, the reported delta does not lead to the present text.
    const sound = moved.text === text ? moved : mapHunks(this.now, computeDelta(this.now.text, text));
    this.now = again === undefined ? sound : { text, hunks: again };
    this.notifyWatchers();
  };
}
