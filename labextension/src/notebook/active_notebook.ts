/**
 * The notebook that the user worked in last: the context of a prompt, and the place for code of an answer.
 *
 * Knows no server. Changes that the assistant makes go through `live_notebooks.ts`.
 */

import { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';

import { ChatContext, TextContext } from '../wire/protocol';
import { describeFile, toFileContext, findFile, formatLines, Place, readPlaceIn, describePlace } from './cursor';
import { FindCell } from '../chat/pasted_cells';
import { baseName, toPlainText } from '../render/format';
import { Surroundings } from '../view/App';
import { NotebookPlace } from '../view/composer/Chips';
import { CodePlace } from '../render/code_types';

/** How many of the last characters of a traceback are sent. */
const LONGEST_ERROR = 4000;

/** Return the active cell as a place for code. Each edit is one step to undo. Undefined when no notebook is open. */
export function findCodePlace(tracker: INotebookTracker): CodePlace | undefined {
  const panel = tracker.currentWidget;
  const model = panel?.content.model?.sharedModel;
  if (panel === null || model === undefined) {
    return undefined;
  }
  const notebook = panel.content;
  const insertBelow = (source: string): void => {
    const below = notebook.activeCellIndex + 1;
    model.transact(() => {
      model.insertCell(below, { cell_type: 'code', source, metadata: { trusted: true } });
    });
    notebook.activeCellIndex = below;
  };
  return {
    insertBelow,
    runBelow: source => {
      insertBelow(source);
      notebook.deselectAll();
      void NotebookActions.run(notebook, panel.sessionContext);
    },
    replaceCell: source => {
      notebook.activeCell?.model.sharedModel.setSource(source);
    }
  };
}

/** Return a function that finds a cell in the open notebooks. */
export function createCellFinder(tracker: INotebookTracker): FindCell {
  return id => {
    const numberIn = ({ content }: NotebookPanel): number =>
      content.widgets.findIndex(({ model }) => model.id === id) + 1;
    const panel = tracker.find(one => numberIn(one) > 0);
    return panel && { path: panel.context.localPath, number: numberIn(panel) };
  };
}

/** The place of the user: the notebook, its active cell and selection or, while a file is in front, the place in it. */
export class NotebookSurroundings implements Surroundings {
  private last: NotebookPlace | undefined;

  constructor(
    private readonly tracker: INotebookTracker,
    private readonly trans: TranslationBundle,
    private readonly frontWidget: () => Widget | null = () => null
  ) {}

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.tracker.currentChanged.connect(watcher);
    this.tracker.activeCellChanged.connect(watcher);
    document.addEventListener('selectionchange', watcher);
    return () => {
      this.tracker.currentChanged.disconnect(watcher);
      this.tracker.activeCellChanged.disconnect(watcher);
      document.removeEventListener('selectionchange', watcher);
    };
  };

  /** Return the place; the same object as long as nothing has changed. */
  readonly current = (): NotebookPlace | undefined => {
    const now = this.describe();
    if (now?.label !== this.last?.label || now?.detail !== this.last?.detail) {
      this.last = now;
    }
    return this.last;
  };

  readonly read = (): readonly ChatContext[] => {
    const panel = this.tracker.currentWidget;
    const file = findFile(this.frontWidget());
    return file !== undefined ? [toFileContext(file)] : panel === null ? [] : toContexts(panel);
  };

  private describe(): NotebookPlace | undefined {
    const panel = this.tracker.currentWidget;
    const file = findFile(this.frontWidget());
    if (file !== undefined) {
      return describeFile(file, this.trans);
    }
    if (panel === null || panel.isDisposed) {
      return undefined;
    }
    const { path } = panel.context;
    const number = panel.content.activeCellIndex + 1;
    const place = readPlace(panel);
    const cell =
      this.trans.__('cell %1', number) + (place === undefined ? '' : `, ${describePlace(place, this.trans)}`);
    return { label: `${baseName(path)} · ${cell}`, detail: `${path}, ${cell}` };
  }
}

/** Return the cursor and selection. A cell that was never visible has no editor, and so no cursor. */
function readPlace(panel: NotebookPanel): Place | undefined {
  const editor = panel.content.activeCell?.editor;
  return editor ? readPlaceIn(editor) : undefined;
}

/**
 * Return the selected lines or, without a selection, the active cell and the error of its last run. The path tells the
 * server in which notebook the user asks, whatever they have in front later. The id of the cell tells it that the model
 * has seen the whole source.
 */
function toContexts(panel: NotebookPanel): TextContext[] {
  const { path, localPath } = panel.context;
  const number = String(panel.content.activeCellIndex + 1);
  const place = readPlace(panel);
  if (place !== undefined && place.text !== '') {
    const label = `selected in ${path}, cell ${number}, ${formatLines(place)}`;
    return [{ type: 'text', label, content: place.text, path: localPath }];
  }
  const cursor = place === undefined ? '' : `, cursor in ${formatLines(place)}`;
  const cell = panel.content.activeCell;
  const source = cell?.model.sharedModel.getSource() ?? '';
  const error = cell instanceof CodeCell ? readError(cell) : '';
  const label = `active cell ${number} of ${path}${cursor}`;
  const active: TextContext = {
    type: 'text',
    label,
    content: source,
    path: localPath,
    ...(cell !== null && { cell: cell.model.id })
  };
  return error === ''
    ? [active]
    : [active, { type: 'text', label: `error of cell ${number} of ${path}`, content: error, path: localPath }];
}

function readError(cell: CodeCell): string {
  const { outputs } = cell.model;
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs.get(index).toJSON();
    if (output.output_type === 'error' && Array.isArray(output.traceback)) {
      return toPlainText(output.traceback.join('\n')).slice(-LONGEST_ERROR);
    }
  }
  return '';
}
