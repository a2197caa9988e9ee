/**
 * Plans and makes changes in the shared model of a live notebook, and converts its cells for the server.
 *
 * A list of changes is first planned on a draft of the notebook (`planSteps`). If one of them cannot be made, the whole
 * list is refused. Otherwise the steps are made (`applySteps`) in one transaction, which is one step to undo. For
 * example, an `edit` of a cell whose source has changed since the model read it is refused, and then no other change of
 * the list is made either.
 *
 * This module knows no widget: `live_notebooks.ts` finds the notebook. `undo_history.ts` puts a step into two undo
 * histories.
 */

import type {
  ISharedCell,
  ISharedCodeCell,
  ISharedMarkdownCell,
  ISharedRawCell,
  SharedCell,
  YNotebook
} from '@jupyter/ydoc';

import { applyAsOneStep } from './undo_history';
import { CellState, NewCell, NotebookCell, NotebookEditParams } from '../wire/protocol';

/**
 * One change that the server wants to make in a notebook: it inserts, edits, deletes, moves or restores (`put`) a cell.
 */
export type NotebookChange = NotebookEditParams['changes'][number];

/** Thrown when a request of the server cannot be carried out. The model reads the message as the reason. */
export class Refusal extends Error {}

/** The properties of an existing cell that a plan depends on. */
export interface CellOutline {
  readonly id: string;
  /** `code`, `markdown` or `raw`. */
  readonly cellType: string;
  readonly source: string;
  /** Whether the kernel runs the cell, or will run it. */
  readonly running?: boolean;
  /** False if the metadata of the cell forbids edits. */
  readonly editable?: boolean;
  /** False if the metadata of the cell forbids its deletion. */
  readonly deletable?: boolean;
}

/** The name of our entry in the metadata of a cell. */
const OUR_METADATA = 'jupyter_eca';
/** Our entry in the metadata of a cell in which the assistant has written. */
const WRITTEN = { written: true };

/**
 * One step of a plan. Its indexes are valid when all steps before it are made. `source` sets the source of a cell, and
 * `restore` gives a cell an earlier version of itself. `marks`: note in the metadata of the cell that the assistant has
 * written in it.
 */
export type Step =
  | { readonly kind: 'insert'; readonly index: number; readonly cell: NewCell | NotebookCell }
  | { readonly kind: 'source'; readonly id: string; readonly source: string; readonly marks?: boolean }
  | { readonly kind: 'delete'; readonly id: string; readonly index: number }
  | { readonly kind: 'move'; readonly id: string; readonly from: number; readonly to: number }
  | { readonly kind: 'restore'; readonly cell: NotebookCell };

/** Return the steps that make the changes. Throws: Refusal, for the first change that cannot be made. */
export function planSteps(cells: readonly CellOutline[], changes: readonly NotebookChange[]): readonly Step[] {
  const draft = [...cells];
  return changes.flatMap(change => planChange(draft, change));
}

/**
 * Return the steps of one change, and make the same change in `draft`. The field `was` of a change is the source that
 * the model has read. If the cell has another source now, the change is refused.
 */
function planChange(draft: CellOutline[], change: NotebookChange): readonly Step[] {
  switch (change.kind) {
    case 'insert': {
      if (draft.some(({ id }) => id === change.cell.id)) {
        throw new Refusal(`there is a cell ${change.cell.id} already`);
      }
      const metadata = change.marks === true ? { metadata: { [OUR_METADATA]: WRITTEN, trusted: true } } : {};
      return [planInsert(draft, findPlace(draft, change.index, change.after), { ...change.cell, ...metadata })];
    }
    case 'edit': {
      const index = findIndex(draft, change.cellId, change.was);
      const cell = getCell(draft, index);
      if (cell.editable === false) {
        throw new Refusal(`cell ${cell.id} is marked in its metadata as one that is not to be edited`);
      }
      draft[index] = { ...cell, source: change.source };
      return [{ kind: 'source', id: cell.id, source: change.source, ...(change.marks === true && { marks: true }) }];
    }
    case 'delete': {
      const index = findIndex(draft, change.cellId, change.was);
      const cell = requireIdle(getCell(draft, index));
      if (cell.deletable === false) {
        throw new Refusal(`cell ${cell.id} is marked in its metadata as one that is not to be deleted`);
      }
      draft.splice(index, 1);
      return [{ kind: 'delete', id: cell.id, index }];
    }
    case 'move': {
      const from = findIndex(draft, change.cellId);
      const cell = requireIdle(getCell(draft, from));
      draft.splice(from, 1);
      const to = Math.min(Math.max(findPlace(draft, change.index, change.after), 0), draft.length);
      draft.splice(to, 0, cell);
      return from === to ? [] : [{ kind: 'move', id: cell.id, from, to }];
    }
    case 'put':
      return planPut(draft, change.index, change.cell, change.was);
  }
}

/**
 * Plan to restore a cell as it was before a change. If it was deleted, it is inserted at `newIndex`. If it has another
 * type now, it is replaced, because a cell of the model cannot change its type. `was` is the source that the cell must
 * have now; undefined for a cell that was deleted.
 */
function planPut(draft: CellOutline[], newIndex: number, cell: NotebookCell, was: string | undefined): readonly Step[] {
  if (was === undefined && !draft.some(({ id }) => id === cell.id)) {
    return [planInsert(draft, newIndex, cell)];
  }
  const index = findIndex(draft, cell.id, was);
  const current = requireIdle(getCell(draft, index));
  if (current.cellType === cell.cellType) {
    draft[index] = { ...current, source: cell.source };
    return [{ kind: 'restore', cell }];
  }
  draft.splice(index, 1);
  return [{ kind: 'delete', id: cell.id, index }, planInsert(draft, index, cell)];
}

/** Plan to insert a cell at `index` or, if that is outside of the notebook, at the nearest possible index. */
function planInsert(draft: CellOutline[], index: number, cell: NewCell | NotebookCell): Step {
  const place = Math.min(Math.max(index, 0), draft.length);
  const { id, cellType, source } = cell;
  draft.splice(place, 0, { id, cellType, source });
  return { kind: 'insert', index: place, cell };
}

/**
 * Return the index at which a cell is inserted: directly after the cell with the id `after`, or at the top if `after`
 * is an empty string. If `after` is undefined, return `index`. An id is better than an index, because cells may have
 * moved since the user saw the change.
 *
 * Throws: Refusal, when the cell `after` is gone.
 */
export function findPlace(draft: readonly { readonly id: string }[], index: number, after: string | undefined): number {
  if (after === undefined || after === '') {
    return after === undefined ? index : 0;
  }
  const anchor = draft.findIndex(({ id }) => id === after);
  if (anchor < 0) {
    throw new Refusal(`cell ${after} is gone, after which the cell was to be placed`);
  }
  return anchor + 1;
}

/** Return the index of a cell. Throws: Refusal, when the cell is gone or its source is not `was` any more. */
function findIndex(draft: readonly CellOutline[], id: string, was?: string): number {
  const index = draft.findIndex(cell => cell.id === id);
  if (index < 0) {
    throw new Refusal(`cell ${id} is gone`);
  }
  const { source } = getCell(draft, index);
  if (was !== undefined && was !== source) {
    throw new Refusal(`cell ${id} was changed meanwhile; it is now:\n${source}`);
  }
  return index;
}

/** Return the cell. Throws: Refusal, if it is running, because the output of the run would be lost with the cell. */
function requireIdle(cell: CellOutline): CellOutline {
  if (cell.running === true) {
    throw new Refusal(`cell ${cell.id} is running: only its source can be changed until it has ended`);
  }
  return cell;
}

/** Return the cell at an index that `findIndex` has returned. */
function getCell(draft: readonly CellOutline[], index: number): CellOutline {
  const cell = draft[index];
  if (cell === undefined) {
    throw new RangeError(`no cell ${String(index)}`);
  }
  return cell;
}

/** Make the steps of a plan, so that one undo takes all of them back. */
export function applySteps(model: YNotebook, steps: readonly Step[]): void {
  // The ids of the cells whose sources change. Such a cell has an undo history of its own.
  const changedCellIds = new Set(
    steps.flatMap(step => (step.kind === 'source' ? [step.id] : step.kind === 'restore' ? [step.cell.id] : []))
  );
  // The undo histories of these cells. The type of Lab's cells does not show them.
  const histories = model.cells.flatMap(cell => {
    const { undoManager } = cell as typeof cell & Pick<YNotebook, 'undoManager'>;
    return changedCellIds.has(cell.id) ? [undoManager] : [];
  });
  // Whether the plan changes one cell, and inserts, deletes and moves none.
  const onlySource = changedCellIds.size === 1 && steps.every(({ kind }) => kind === 'source' || kind === 'restore');
  applyAsOneStep(model.undoManager, histories, onlySource, () => {
    makeSteps(model, steps);
  });
}

/** Make the steps. The cells are kept in a map, because `model.cells` is only updated at the end of the transaction. */
function makeSteps(model: YNotebook, steps: readonly Step[]): void {
  const cells = new Map<string, ISharedCell>(model.cells.map(cell => [cell.id, cell]));
  for (const step of steps) {
    switch (step.kind) {
      case 'insert':
        cells.set(step.cell.id, model.insertCell(step.index, toSharedCell(step.cell)));
        break;
      case 'delete':
        model.deleteCell(step.index);
        break;
      case 'move': {
        const cellJson = cells.get(step.id)?.toJSON();
        if (cellJson !== undefined) {
          model.deleteCell(step.from);
          cells.set(step.id, model.insertCell(step.to, cellJson));
        }
        break;
      }
      case 'source': {
        const cell = cells.get(step.id);
        if (cell?.getSource() !== step.source) {
          removeOldError(cell);
        }
        rewriteSource(cell, step.source);
        if (step.marks === true) {
          markWritten(cell);
        }
        break;
      }
      case 'restore':
        restoreCell(cells.get(step.cell.id), step.cell);
        break;
    }
  }
}

/**
 * Remove the outputs of a cell that ended with an error. The error belongs to the source before the edit: below the
 * new source it would look as if the new source had failed. A cell that is running keeps its outputs.
 */
function removeOldError(cell: ISharedCell | undefined): void {
  if (cell?.cell_type !== 'code') {
    return;
  }
  const code = cell as ISharedCodeCell;
  if (code.execution_count !== null && code.getOutputs().some(({ output_type }) => output_type === 'error')) {
    code.setOutputs([]);
    code.execution_count = null;
  }
}

/** Note in the metadata of a cell that the assistant has written in it. */
function markWritten(cell: ISharedCell | undefined): void {
  const ours = cell?.getMetadata(OUR_METADATA);
  const others = typeof ours === 'object' && ours !== null && !Array.isArray(ours) ? ours : {};
  cell?.setMetadata(OUR_METADATA, { ...others, ...WRITTEN });
}

/**
 * Set the source of a cell. Only what differs is replaced, so that a cursor elsewhere in the cell stays, and so does
 * what another user types there.
 */
function rewriteSource(cell: ISharedCell | undefined, source: string): void {
  const old = cell?.getSource() ?? '';
  const shorterLength = Math.min(old.length, source.length);
  // The number of equal characters at the beginning of both texts.
  let start = 0;
  while (start < shorterLength && old[start] === source[start]) {
    start++;
  }
  // The number of equal characters at the end of both texts.
  let tailLength = 0;
  while (
    tailLength < shorterLength - start &&
    old[old.length - 1 - tailLength] === source[source.length - 1 - tailLength]
  ) {
    tailLength++;
  }
  // The text must not be cut inside a character of two code units: Yjs would write half of the character.
  start -= Number(splitsCharacter(old, start) || splitsCharacter(source, start));
  tailLength -= Number(
    tailLength > 0 &&
      (splitsCharacter(old, old.length - tailLength) || splitsCharacter(source, source.length - tailLength))
  );
  if (old !== source) {
    cell?.updateSource(start, old.length - tailLength, source.slice(start, source.length - tailLength));
  }
}

/** Whether a cut at `offset` would split a character of two code units. */
function splitsCharacter(text: string, offset: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(offset - 1, 0), offset + 1));
}

/** Give a cell the source, metadata, outputs and attachments of `old`. */
function restoreCell(cell: ISharedCell | undefined, old: NotebookCell): void {
  const { source, metadata, executionCount, outputs, attachments } = old;
  rewriteSource(cell, source);
  for (const key of Object.keys(cell?.getMetadata() ?? {})) {
    cell?.deleteMetadata(key);
  }
  cell?.setMetadata({ ...metadata } as NonNullable<SharedCell.Cell['metadata']>);
  if (cell?.cell_type === 'code') {
    const code = cell as ISharedCodeCell;
    code.setOutputs([...(outputs ?? [])] as ReturnType<ISharedCodeCell['getOutputs']>);
    code.execution_count = executionCount ?? null;
  } else if (cell !== undefined && attachments !== undefined) {
    (cell as ISharedMarkdownCell).attachments = attachments as NonNullable<ISharedMarkdownCell['attachments']>;
  }
}

/**
 * Convert a cell of the server for Lab's model. A cell without metadata is new. It is trusted like a cell that the user
 * inserts, because it has no outputs.
 */
function toSharedCell({ id, cellType, source, ...rest }: NewCell | NotebookCell): SharedCell.Cell {
  const { metadata, executionCount, outputs = [], attachments }: Partial<NotebookCell> = rest;
  const cell = { id, cell_type: cellType, source };
  if (cellType !== 'code') {
    return { ...cell, metadata: { ...metadata }, ...(attachments && { attachments }) } as SharedCell.Cell;
  }
  const trustedMetadata = metadata ?? { trusted: true };
  return {
    ...cell,
    metadata: { ...trustedMetadata },
    outputs,
    execution_count: executionCount ?? null
  } as unknown as SharedCell.Cell;
}

/**
 * Convert a cell of Lab's model for the server. `state` is the state of a code cell. `withOutputs`: the outputs of a
 * code cell are converted, too.
 */
export function toNotebookCell(cell: ISharedCell, state?: CellState, withOutputs = true): NotebookCell {
  const { id, cell_type, source } = cell;
  const metadata = cell.getMetadata();
  if (cell_type !== 'code') {
    const { attachments } = cell as ISharedMarkdownCell | ISharedRawCell;
    const pictures = attachments !== undefined && { attachments };
    return { id, cellType: cell_type as NotebookCell['cellType'], source, metadata, ...pictures };
  }
  const code = cell as ISharedCodeCell;
  const { execution_count } = code;
  return {
    id,
    cellType: 'code',
    source,
    metadata,
    ...(execution_count !== null && { executionCount: execution_count }),
    ...(withOutputs && { outputs: code.outputs }),
    ...(state !== undefined && { state })
  };
}
