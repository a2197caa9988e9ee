/**
 * Reads the place where the user works, which is sent as a context with a prompt, and inserts code of an answer there.
 * The place is usually the active cell of the notebook that the user worked in last.
 *
 * This module knows no server. Changes that the assistant itself makes are in `live_notebooks.ts`.
 */

import { INotebookTracker, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';

import { ChatContext, CursorContext } from '../wire/protocol';
import { describeFile, describePlace, findFile, Place, readPlace, readRange, toFileContext } from './cursor';
import { FindCell } from '../chat/pasted_cells';
import { baseName } from '../render/format';
import { Surroundings } from '../view/App';
import { EditorPlace } from '../view/composer/Chips';
import { CodeTarget } from '../render/code_tool_types';

/**
 * Return the functions that insert code at the active cell; undefined when no notebook is open. Each insertion is one
 * step to undo.
 */
export function findCodeTarget(tracker: INotebookTracker): CodeTarget | undefined {
  return tracker.currentWidget === null ? undefined : createCodeTarget(tracker.currentWidget);
}

/** Return the functions that insert code at the active cell of a notebook; undefined while the notebook is loaded. */
export function createCodeTarget(panel: NotebookPanel): CodeTarget | undefined {
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
 * The place where the user works. It is the file in the front tab, if the tab is an editor of a file. Otherwise it is
 * the active cell of the notebook that the user worked in last, and the selection in it.
 */
export class NotebookSurroundings implements Surroundings {
  /** The place that `current` returned last. */
  private last: EditorPlace | undefined;

  constructor(
    private readonly tracker: INotebookTracker,
    private readonly trans: TranslationBundle,
    /** Returns the widget in the front tab. */
    private readonly findFrontWidget: () => Widget | null = () => null
  ) {}

  /** Call `subscriber` whenever the place may have changed. The returned function ends that. */
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

  /**
   * Return the place; undefined when no notebook and no editor of a file is open. As long as nothing has changed, this
   * is the same object, as React requires.
   */
  readonly current = (): EditorPlace | undefined => {
    const now = this.describe();
    if (now?.label !== this.last?.label || now?.detail !== this.last?.detail) {
      this.last = now;
    }
    return this.last;
  };

  /** Return the path of the notebook that the user worked in last; undefined for none. It may be behind another tab. */
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

  /** Describe the place for the user; undefined when there is none. */
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
    const content = this.trans.__(
      'its source (of a long cell, the lines around the cursor), the end of its output, the cells that its error passed through, the cells that define the functions and classes it uses, the headings of the notebook, the functions of your modules that it imports, and the state of its kernel; of these, only what the chat does not have yet'
    );
    return { label: `${baseName(path)} · ${cell}`, detail: `${path}, ${cell}`, content };
  }
}

/**
 * Return the cursor and the selection in the active cell. A cell that was never visible has no editor, so the result
 * is undefined.
 */
function readCellPlace(panel: NotebookPanel): Place | undefined {
  const editor = panel.content.activeCell?.editor;
  return editor ? readPlace(editor) : undefined;
}

/**
 * Return the cursor or the selection in the active cell. The server adds the cell, its output and the state of the
 * kernel (`workspace/reading/place_text.py`), so that the panel and cells with `%%eca` send the same.
 */
function toContexts(panel: NotebookPanel): CursorContext[] {
  const cell = panel.content.activeCell;
  const editor = cell?.editor;
  const cellStart = { line: 0, character: 0 };
  return [
    {
      type: 'cursor',
      path: panel.context.localPath,
      position: editor ? readRange(editor) : { start: cellStart, end: cellStart },
      cell: cell?.model.id ?? ''
    }
  ];
}
