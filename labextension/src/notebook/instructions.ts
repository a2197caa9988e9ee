/**
 * Reads and writes the instructions for the assistant that are stored in the metadata of a notebook, under
 * `jupyter_eca.instructions`.
 *
 * A person who sends a notebook to the user must not control the assistant. So the instructions of a notebook that is
 * not trusted are shown, but not sent to a model. The trust is Jupyter's: a notebook is trusted when the user has
 * signed or run all of its code. A notebook without code is never trusted, because Jupyter has nothing to check in it.
 * This module knows no view: the view is `view/Instructions.tsx`.
 */

import type { YNotebook } from '@jupyter/ydoc';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookModel, INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONObject } from '@lumino/coreutils';

import type { NotebookInstructions, InstructionsSource } from '../view/Instructions';
import { baseName } from '../render/format';

/** The name of our entry in the metadata of a notebook. */
const KEY = 'jupyter_eca';

/** Return our entry in the metadata of a notebook; `{}` if there is none. */
function readOwnMetadata(model: YNotebook): PartialJSONObject {
  const entry: unknown = model.getMetadata(KEY);
  return typeof entry === 'object' && entry !== null ? (entry as PartialJSONObject) : {};
}

/** Return the instructions in the metadata; empty when there are none. */
export function readInstructions(model: YNotebook): string {
  const { instructions } = readOwnMetadata(model);
  return typeof instructions === 'string' ? instructions : '';
}

/** Write the instructions as one change of the metadata. An empty text removes them from the metadata. */
export function writeInstructions(model: YNotebook, instructions: string): void {
  const text = instructions.trim();
  const others = Object.entries(readOwnMetadata(model)).filter(([name]) => name !== 'instructions');
  if (text === '' && others.length === 0) {
    model.deleteMetadata(KEY);
  } else {
    model.setMetadata(KEY, { ...Object.fromEntries(others), ...(text !== '' && { instructions: text }) });
  }
}

/** Whether Jupyter trusts a notebook with these cells: it has code, and all of its code is trusted. */
export function isTrusted(cells: Iterable<{ readonly type: string; readonly trusted: boolean }>): boolean {
  const code = [...cells].filter(({ type }) => type === 'code');
  return code.length > 0 && code.every(({ trusted }) => trusted);
}

/** Return the instructions of a notebook; empty when it is not trusted. */
export function readTrustedInstructions({ context: { model } }: NotebookPanel): string {
  return isTrusted(model.cells) ? readInstructions(model.sharedModel as YNotebook) : '';
}

/** The instructions of the active notebook. */
export class ActiveInstructions implements InstructionsSource {
  /** The instructions that `current` returned last. */
  private last: NotebookInstructions | undefined;

  constructor(private readonly tracker: INotebookTracker) {}

  /** Call `subscriber` whenever the instructions may have changed. The returned function ends that. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    let model: INotebookModel | undefined;
    // A notebook has no signal for a change of its trust. Each of its cells has one.
    const handleCellChange = (_: ICellModel, { name }: { readonly name: string }): void => {
      if (name === 'trusted') {
        subscriber();
      }
    };
    const followCells = (): void => {
      for (const cell of model?.cells ?? []) {
        cell.stateChanged.connect(handleCellChange);
      }
      subscriber();
    };
    const unfollow = (): void => {
      // A notebook that was closed has disposed of its cells and their signals.
      if (model === undefined || model.isDisposed) {
        return;
      }
      for (const cell of model.cells) {
        cell.stateChanged.disconnect(handleCellChange);
      }
      model.metadataChanged.disconnect(subscriber);
      model.cells.changed.disconnect(followCells);
    };
    const follow = (): void => {
      unfollow();
      model = this.tracker.currentWidget?.context.model;
      model?.metadataChanged.connect(subscriber);
      model?.cells.changed.connect(followCells);
      followCells();
    };
    follow();
    this.tracker.currentChanged.connect(follow);
    // No signal reports that the whole notebook became trusted, so this is checked again when the active cell changes.
    this.tracker.activeCellChanged.connect(subscriber);
    return () => {
      unfollow();
      this.tracker.currentChanged.disconnect(follow);
      this.tracker.activeCellChanged.disconnect(subscriber);
    };
  };

  /**
   * Return the instructions; undefined when there is no active notebook. As long as nothing has changed, this is the
   * same object, as React requires.
   */
  readonly current = (): NotebookInstructions | undefined => {
    const now = this.read();
    const isSame =
      now?.path === this.last?.path && now?.text === this.last?.text && now?.trusted === this.last?.trusted;
    if (!isSame) {
      this.last = now;
    }
    return this.last;
  };

  /** Write the instructions of the open notebook at `path`. */
  readonly save = (path: string, text: string): void => {
    const panel = this.tracker.find(({ context }) => context.path === path);
    const model = panel?.context.model.sharedModel;
    if (model !== undefined) {
      writeInstructions(model as YNotebook, text);
    }
  };

  /** Return the instructions of the active notebook; undefined when there is none, or while it is loaded. */
  private read(): NotebookInstructions | undefined {
    const panel = this.tracker.currentWidget;
    if (panel === null || panel.isDisposed || panel.content.model === null) {
      return undefined;
    }
    const { path, model } = panel.context;
    const text = readInstructions(model.sharedModel as YNotebook);
    return { path, name: baseName(path), text, trusted: isTrusted(model.cells) };
  }
}
