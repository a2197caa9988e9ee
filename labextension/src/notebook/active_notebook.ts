/**
 * Uses the notebook that the user worked in last: its place is the context of a prompt, and code of an answer can be
 * inserted there.
 *
 * This module knows no server. Changes that the assistant itself makes are in `live_notebooks.ts`.
 */

import { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';

import { ChatContext, TextContext } from '../wire/protocol';
import { describeFile, toFileContext, findFile, formatLines, Place, readPlace, describePlace } from './cursor';
import { FindCell } from '../chat/pasted_cells';
import { baseName, toPlainText } from '../render/format';
import { Surroundings } from '../view/App';
import { EditorPlace } from '../view/composer/Chips';
import { CodePlace } from '../render/code_tool_types';

/** The most characters of a traceback that are sent. The last ones matter most. */
const LONGEST_ERROR = 4000;

/** Return the active cell as a place for code; undefined when no notebook is open. Each edit is one step to undo. */
export function findCodePlace(tracker: INotebookTracker): CodePlace | undefined {
  return tracker.currentWidget === null ? undefined : createCodePlace(tracker.currentWidget);
}

/** Return the active cell of a notebook as a place for code; undefined while the notebook is loaded. */
export function createCodePlace(panel: NotebookPanel): CodePlace | undefined {
  const model = panel.content.model?.sharedModel;
  if (model === undefined) {
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
    const findNumber = ({ content }: NotebookPanel): number =>
      content.widgets.findIndex(({ model }) => model.id === id) + 1;
    const panel = tracker.find(candidate => findNumber(candidate) > 0);
    return panel && { path: panel.context.localPath, number: findNumber(panel) };
  };
}

/**
 * The place where the user works. It is the file in the front tab, if the tab is an editor of a file. Otherwise it is the
 * active cell of the notebook that the user worked in last, and the selection in it.
 */
export class NotebookSurroundings implements Surroundings {
  private last: EditorPlace | undefined;

  constructor(
    private readonly tracker: INotebookTracker,
    private readonly trans: TranslationBundle,
    /** Returns the widget in the front tab. */
    private readonly findFrontWidget: () => Widget | null = () => null
  ) {}

  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.tracker.currentChanged.connect(subscriber);
    this.tracker.activeCellChanged.connect(subscriber);
    document.addEventListener('selectionchange', subscriber);
    return () => {
      this.tracker.currentChanged.disconnect(subscriber);
      this.tracker.activeCellChanged.disconnect(subscriber);
      document.removeEventListener('selectionchange', subscriber);
    };
  };

  /** Return the place. As long as nothing has changed, this is the same object, as React requires. */
  readonly current = (): EditorPlace | undefined => {
    const now = this.describe();
    if (now?.label !== this.last?.label || now?.detail !== this.last?.detail) {
      this.last = now;
    }
    return this.last;
  };

  /** Return the path of the notebook that the user worked in last. It may be behind another tab. */
  readonly findNotebook = (): string | undefined => {
    const panel = this.tracker.currentWidget;
    return panel === null || panel.isDisposed ? undefined : panel.context.localPath;
  };

  /** Return the place as contexts of a prompt. */
  readonly readContexts = (): readonly ChatContext[] => {
    const panel = this.tracker.currentWidget;
    const file = findFile(this.findFrontWidget());
    return file !== undefined ? [toFileContext(file)] : panel === null ? [] : toContexts(panel);
  };

  /** Describe the place for the user. */
  private describe(): EditorPlace | undefined {
    const panel = this.tracker.currentWidget;
    const file = findFile(this.findFrontWidget());
    if (file !== undefined) {
      return describeFile(file, this.trans);
    }
    if (panel === null || panel.isDisposed) {
      return undefined;
    }
    const { path } = panel.context;
    const number = panel.content.activeCellIndex + 1;
    const place = readCellPlace(panel);
    const cell =
      this.trans.__('cell %1', number) + (place === undefined ? '' : `, ${describePlace(place, this.trans)}`);
    return { label: `${baseName(path)} · ${cell}`, detail: `${path}, ${cell}` };
  }
}

/**
 * Return the cursor and the selection in the active cell. A cell that was never visible has no editor, so no cursor.
 */
function readCellPlace(panel: NotebookPanel): Place | undefined {
  const editor = panel.content.activeCell?.editor;
  return editor ? readPlace(editor) : undefined;
}

/**
 * Return the selected lines or, when nothing is selected, the active cell and the error of its last run. The path tells
 * the server in which notebook the user asks, because the user may switch to another notebook. The id of the cell tells
 * it that the model has seen the whole source.
 */
function toContexts(panel: NotebookPanel): TextContext[] {
  const { path, localPath } = panel.context;
  const number = String(panel.content.activeCellIndex + 1);
  const place = readCellPlace(panel);
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

/** Return the traceback in the outputs of a cell; empty when there is none. */
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
