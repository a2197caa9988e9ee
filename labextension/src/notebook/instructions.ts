/**
 * What a notebook asks of the assistant: `jupyter_eca.instructions` in its metadata.
 *
 * Whoever sends a notebook must not have a say in what the assistant does, so those of one that is not trusted are
 * shown but not told. Trust is Jupyter's own: all its code is signed by this user, or was run by them. A notebook
 * without code has nothing that Jupyter would distrust, so nothing that could be trusted.
 */

import type { YNotebook } from '@jupyter/ydoc';
import type { ICellModel } from '@jupyterlab/cells';
import type { INotebookModel, INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONObject } from '@lumino/coreutils';

import type { Instructed, InstructionsSource } from '../view/Instructions';
import { base } from '../render/format';

const KEY = 'jupyter_eca';

function own(model: YNotebook): PartialJSONObject {
  const found: unknown = model.getMetadata(KEY);
  return typeof found === 'object' && found !== null ? (found as PartialJSONObject) : {};
}

export function instructionsOf(model: YNotebook): string {
  const { instructions } = own(model);
  return typeof instructions === 'string' ? instructions : '';
}

/** As one step; without words nothing of it stays behind. */
export function instruct(model: YNotebook, words: string): void {
  const text = words.trim();
  const others = Object.entries(own(model)).filter(([name]) => name !== 'instructions');
  if (text === '' && others.length === 0) {
    model.deleteMetadata(KEY);
  } else {
    model.setMetadata(KEY, { ...Object.fromEntries(others), ...(text !== '' && { instructions: text }) });
  }
}

export function isTrusted(cells: Iterable<{ readonly type: string; readonly trusted: boolean }>): boolean {
  const code = [...cells].filter(({ type }) => type === 'code');
  return code.length > 0 && code.every(({ trusted }) => trusted);
}

/** Of a panel, as far as the assistant is told of them. */
export function toldOf({ context: { model } }: NotebookPanel): string {
  return isTrusted(model.cells) ? instructionsOf(model.sharedModel as YNotebook) : '';
}

/** Of the notebook that is worked in. */
export class ActiveInstructions implements InstructionsSource {
  private seen: Instructed | undefined;

  constructor(private readonly tracker: INotebookTracker) {}

  readonly subscribe = (watcher: () => void): (() => void) => {
    let model: INotebookModel | undefined;
    // A notebook does not say that it became trusted: its cells do, one by one.
    const heed = (_: ICellModel, { name }: { readonly name: string }): void => {
      if (name === 'trusted') {
        watcher();
      }
    };
    const followCells = (): void => {
      for (const cell of model?.cells ?? []) {
        cell.stateChanged.connect(heed);
      }
      watcher();
    };
    const unfollow = (): void => {
      // One that was closed has let go of its cells, and of whoever followed them.
      if (model === undefined || model.isDisposed) {
        return;
      }
      for (const cell of model.cells) {
        cell.stateChanged.disconnect(heed);
      }
      model.metadataChanged.disconnect(watcher);
      model.cells.changed.disconnect(followCells);
    };
    const follow = (): void => {
      unfollow();
      model = this.tracker.currentWidget?.context.model;
      model?.metadataChanged.connect(watcher);
      model?.cells.changed.connect(followCells);
      followCells();
    };
    follow();
    this.tracker.currentChanged.connect(follow);
    // At the next step it is looked at again, whatever has changed without a word.
    this.tracker.activeCellChanged.connect(watcher);
    return () => {
      unfollow();
      this.tracker.currentChanged.disconnect(follow);
      this.tracker.activeCellChanged.disconnect(watcher);
    };
  };

  /** The same object as long as nothing changed. */
  readonly current = (): Instructed | undefined => {
    const now = this.look();
    const same =
      now?.path === this.seen?.path && now?.words === this.seen?.words && now?.trusted === this.seen?.trusted;
    if (!same) {
      this.seen = now;
    }
    return this.seen;
  };

  readonly save = (path: string, words: string): void => {
    const panel = this.tracker.find(({ context }) => context.path === path);
    const model = panel?.context.model.sharedModel;
    if (model !== undefined) {
      instruct(model as YNotebook, words);
    }
  };

  private look(): Instructed | undefined {
    const panel = this.tracker.currentWidget;
    if (panel === null || panel.isDisposed || panel.content.model === null) {
      return undefined;
    }
    const { path, model } = panel.context;
    const words = instructionsOf(model.sharedModel as YNotebook);
    return { path, name: base(path), words, trusted: isTrusted(model.cells) };
  }
}
