/** The notebook that was worked in last: what is in it at the moment, and edits in its live model. */

import { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';

import { ChatContext, TextContext } from './protocol';
import { base, plain } from './text';
import { Surroundings } from './view/App';
import { Around } from './view/Chips';
import { CodePlace } from './view/env';

/** A traceback says what it says in its first and last lines. */
const LONGEST_ERROR = 4000;

/** Each edit is one step to undo. */
export function codePlace(tracker: INotebookTracker): CodePlace | undefined {
  const notebook = tracker.currentWidget?.content;
  const model = notebook?.model?.sharedModel;
  if (notebook === undefined || model === undefined) {
    return undefined;
  }
  return {
    insertBelow: source => {
      const below = notebook.activeCellIndex + 1;
      model.transact(() => {
        model.insertCell(below, { cell_type: 'code', source, metadata: { trusted: true } });
      });
      notebook.activeCellIndex = below;
    },
    replaceCell: source => {
      notebook.activeCell?.model.sharedModel.setSource(source);
    }
  };
}

/** Follows the notebook, its active cell and what is selected in it. */
export class NotebookSurroundings implements Surroundings {
  private seen: Around | undefined;

  constructor(
    private readonly tracker: INotebookTracker,
    private readonly trans: TranslationBundle
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

  /** The same object as long as nothing changed. */
  readonly current = (): Around | undefined => {
    const now = this.look();
    if (now?.label !== this.seen?.label || now?.detail !== this.seen?.detail) {
      this.seen = now;
    }
    return this.seen;
  };

  readonly read = (): readonly ChatContext[] => {
    const panel = this.tracker.currentWidget;
    return panel === null ? [] : [contextOf(panel)];
  };

  private look(): Around | undefined {
    const panel = this.tracker.currentWidget;
    if (panel === null || panel.isDisposed) {
      return undefined;
    }
    const { path } = panel.context;
    const n = panel.content.activeCellIndex + 1;
    const lines = selected(panel)?.split('\n').length ?? 0;
    const cell =
      lines > 0 ? this.trans._n('cell %2, %1 line', 'cell %2, %1 lines', lines, n) : this.trans.__('cell %1', n);
    return { label: `${base(path)} · ${cell}`, detail: `${path}, ${cell}` };
  }
}

function selected(panel: NotebookPanel): string | undefined {
  const editor = panel.content.activeCell?.editor;
  if (!editor) {
    return undefined;
  }
  const { start, end } = editor.getSelection();
  const source = editor.model.sharedModel.getSource();
  const text = source.slice(editor.getOffsetAt(start), editor.getOffsetAt(end));
  return text === '' ? undefined : text;
}

/** The selected lines, else the active cell with the error it ended in. */
function contextOf(panel: NotebookPanel): TextContext {
  const { path } = panel.context;
  const n = String(panel.content.activeCellIndex + 1);
  const selection = selected(panel);
  if (selection !== undefined) {
    return { type: 'text', label: `selected in ${path}, cell ${n}`, content: selection };
  }
  const cell = panel.content.activeCell;
  const source = cell?.model.sharedModel.getSource() ?? '';
  const error = cell instanceof CodeCell ? errorOf(cell) : '';
  return {
    type: 'text',
    label: `active cell ${n} of ${path}`,
    content: error === '' ? source : `${source}\n\n${error}`
  };
}

function errorOf(cell: CodeCell): string {
  const { outputs } = cell.model;
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs.get(index).toJSON();
    if (output.output_type === 'error' && Array.isArray(output.traceback)) {
      return plain(output.traceback.join('\n')).slice(-LONGEST_ERROR);
    }
  }
  return '';
}
