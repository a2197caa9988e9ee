/**
 * Finds out whether the cells that a waiting call would change or run are still as they were when the call was proposed.
 * If they are not, an approval would do nothing: the call is refused, and the assistant learns why.
 *
 * This module knows no call and no view: it compares the details of a call with the open notebooks.
 */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import type { Blocks, ToolBlock } from '../chat/blocks';
import type { Obstacle, ProposedCells } from '../view/common/env';
import type { ToolCallDetails } from '../wire/protocol';

/** A cell of a notebook, as it is now. */
interface CellSource {
  readonly id: string;
  readonly source: string;
}

/** Watches the open notebooks of Lab. */
export class OpenProposedCells implements ProposedCells {
  /** `getBlocks` returns the blocks of the chat that is shown. */
  constructor(
    private readonly tracker: INotebookTracker,
    private readonly getBlocks: () => Blocks
  ) {}

  /** Call `subscriber` whenever a cell of an open notebook may have changed. The returned function ends that. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    const followed: NotebookPanel[] = [];
    const follow = (_: unknown, panel: NotebookPanel): void => {
      followed.push(panel);
      panel.context.model.contentChanged.connect(subscriber);
    };
    this.tracker.forEach(panel => {
      follow(undefined, panel);
    });
    this.tracker.widgetAdded.connect(follow);
    return () => {
      this.tracker.widgetAdded.disconnect(follow);
      followed.forEach(({ context }) => context.model.contentChanged.disconnect(subscriber));
    };
  };

  /** Return why a call cannot do what its details say; undefined if it can, and if its notebook is not open. */
  readonly findObstacle = ({ key, details }: ToolBlock): Obstacle | undefined => {
    if (details?.type !== 'fileChange' && details?.type !== 'runCells') {
      return undefined;
    }
    const blocks = this.getBlocks();
    const earlier = blocks.slice(
      0,
      Math.max(
        blocks.findIndex(block => block.key === key),
        0
      )
    );
    const panel = this.tracker.find(({ isDisposed, context }) => !isDisposed && context.localPath === details.path);
    const cells = panel?.content.model?.sharedModel.cells;
    return cells === undefined ? undefined : findObstacle(cells, details, listOpenChanges(earlier));
  };
}

/** Return the details of the calls that have not ended. */
function listOpenChanges(blocks: Blocks): readonly ToolCallDetails[] {
  return blocks.flatMap(block =>
    block.kind === 'tool' && block.details !== undefined && ['waiting', 'ready', 'running'].includes(block.status)
      ? [block.details]
      : []
  );
}

/**
 * Return why a call cannot change or run the cells in its details; undefined if it can. `cells` are those now. `earlier`
 * has the details of calls that run before this one. How they leave their cells is not known yet.
 */
export function findObstacle(
  cells: readonly CellSource[],
  details: ToolCallDetails,
  earlier: readonly ToolCallDetails[] = []
): Obstacle | undefined {
  const expected = listExpectedCells(details, new Set(earlier.flatMap(listChangedCells)));
  const sources = new Map(cells.map(({ id, source }) => [id, source]));
  if ([...expected.keys()].some(id => !sources.has(id))) {
    return 'gone';
  }
  return [...expected].some(([id, source]) => source !== undefined && sources.get(id) !== source)
    ? 'changed'
    : undefined;
}

/** Return the ids of the cells that a call changes. */
function listChangedCells(details: ToolCallDetails): readonly string[] {
  const changes = details.type === 'fileChange' ? (details.cells ?? []) : [];
  return changes.map(change => ('cellId' in change ? change.cellId : change.cell.id));
}

/**
 * Return the cells that must exist, by their ids, with the source that they must have; undefined if any source will do.
 * Cells in `unknown`, and those that the call itself inserts, are left out. If a call edits a cell twice, only the
 * source before the first edit counts.
 */
function listExpectedCells(details: ToolCallDetails, unknown: Set<string>): ReadonlyMap<string, string | undefined> {
  const expected = new Map<string, string | undefined>();
  /** Expect that a cell exists and, if `source` is given, that it has this source. */
  const expectCell = (id: string, source?: string): void => {
    if (!unknown.has(id) && id !== '' && expected.get(id) === undefined) {
      expected.set(id, source);
    }
  };
  if (details.type === 'runCells') {
    details.cells.forEach(({ id, source }) => {
      expectCell(id, source);
    });
  }
  for (const change of details.type === 'fileChange' ? (details.cells ?? []) : []) {
    switch (change.kind) {
      case 'insert':
        expectCell(change.after ?? '');
        unknown.add(change.cell.id);
        break;
      case 'edit':
      case 'delete':
        expectCell(change.cellId, change.was);
        break;
      case 'move':
        expectCell(change.cellId);
        expectCell(change.after ?? '');
        break;
      case 'put':
        // It inserts the cell if it does not exist.
        unknown.add(change.cell.id);
    }
  }
  return expected;
}
