/**
 * Gives the outputs of each cell a version, a number that grows when they change, and chooses the outputs that an
 * answer to the server contains. The outputs of a notebook may have many megabytes, and the server reads notebooks
 * often. So the page sends only the outputs that the server does not have, and no more at once than one message can
 * hold.
 *
 * This module knows no panel: `live_notebooks.ts` makes the answers.
 */

import type { ISharedCell, ISharedCodeCell, YCodeCell } from '@jupyter/ydoc';

import { toNotebookCell } from './live_cells';
import { OutputsOfCell, CellState, NotebookCell } from '../wire/protocol';

/**
 * About how many characters of outputs an answer has at most. It has more if one cell alone has more. A message may be
 * longer (`MAX_ANSWER_LENGTH` in `rpc.ts`), but the other messages of the page would then wait longer.
 */
export const OUTPUTS_PER_ANSWER = 8 * 1024 * 1024;

/** The versions of the outputs of all cells of a page. */
export class OutputVersions {
  /** The highest version so far. */
  private highest = 0;
  /** The version of the outputs of each cell. A cell whose outputs have changed since they were read has none. */
  private readonly versions = new WeakMap<ISharedCodeCell, number>();
  /** The cells whose changes are followed. */
  private readonly followed = new WeakSet<ISharedCodeCell>();

  /** Return the version of the outputs of a cell. */
  getVersion(cell: ISharedCodeCell): number {
    this.follow(cell);
    const version = this.versions.get(cell) ?? ++this.highest;
    this.versions.set(cell, version);
    return version;
  }

  /**
   * Return the cells of a notebook for the server, and the highest version so far. `states` are the states of the code
   * cells, by their ids. `known` is the highest version that the server has seen.
   *
   * Outputs that are not newer are left out, and so are outputs for which the answer has no room. Each code cell has
   * its `outputsVersion` nevertheless, so the server sees which outputs it lacks, and requests those with
   * `readOutputs`.
   */
  convertCells(
    cells: readonly ISharedCell[],
    states: ReadonlyMap<string, CellState>,
    known: number
  ): { readonly cells: readonly NotebookCell[]; readonly outputsVersion: number } {
    const room = new Room();
    const converted = cells.map(cell => {
      const state = states.get(cell.id);
      if (cell.cell_type !== 'code') {
        return toNotebookCell(cell, state);
      }
      const outputsVersion = this.getVersion(cell as ISharedCodeCell);
      const { outputs, ...rest } = toNotebookCell(cell, state, outputsVersion > known && !room.isFull);
      const isSent = outputs !== undefined && room.take(outputs);
      return { ...rest, ...(isSent && { outputs }), outputsVersion };
    });
    return { cells: converted, outputsVersion: this.highest };
  }

  /**
   * Return the outputs of the cells with these ids, in this order, until there is no room. The first always has room.
   * A cell that is gone or has no code has no outputs, and its version is 0.
   */
  readOutputs(cells: readonly ISharedCell[], ids: readonly string[]): readonly OutputsOfCell[] {
    const cellsById = new Map(cells.map(cell => [cell.id, cell]));
    const room = new Room();
    const answer: OutputsOfCell[] = [];
    for (const id of ids) {
      const cell = cellsById.get(id);
      const isCode = cell?.cell_type === 'code';
      const outputsVersion = isCode ? this.getVersion(cell as ISharedCodeCell) : 0;
      const outputs = isCode ? (cell as ISharedCodeCell).outputs : [];
      if (!room.take(outputs)) {
        break;
      }
      answer.push({ id, outputs, outputsVersion });
    }
    return answer;
  }

  /** Follow the outputs of a cell: when they change, their version is not valid any more. */
  private follow(cell: ISharedCodeCell): void {
    if (this.followed.has(cell)) {
      return;
    }
    this.followed.add(cell);
    // The shared model is observed, because the signal of the cell does not report each text that a stream gets.
    const { ymodel } = cell as YCodeCell;
    ymodel.observeDeep(events => {
      for (const { path, target, changes } of events) {
        if (path[0] === 'outputs' || (target === ymodel && changes.keys.has('outputs'))) {
          this.versions.delete(cell);
        }
      }
    });
  }
}

/** The room for outputs in an answer, in characters. */
class Room {
  /** How many characters still fit. Negative after outputs that alone have more than fit. */
  private left = OUTPUTS_PER_ANSWER;

  /** Whether there is no room for more outputs. */
  get isFull(): boolean {
    return this.left <= 0;
  }

  /** Take outputs if they fit, or if they are the first. Return whether they were taken. */
  take(outputs: unknown): boolean {
    const length = measure(outputs);
    if (length > this.left && this.left < OUTPUTS_PER_ANSWER) {
      return false;
    }
    this.left -= length;
    return true;
  }
}

/** Return the number of characters of the texts in a value, which is nearly the length of its JSON. */
function measure(value: unknown): number {
  if (typeof value === 'string') {
    return value.length;
  }
  if (typeof value !== 'object' || value === null) {
    return 1;
  }
  let length = 0;
  for (const [name, part] of Object.entries(value)) {
    length += name.length + measure(part);
  }
  return length;
}
