/** The panel learns under which path an open notebook goes on. */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { expect, test } from 'vitest';

import { watchRenames } from '../../src/notebook/renames';

class Context {
  readonly pathChanged = new Signal<this, string>(this);
  readonly disposed = new Signal<this, void>(this);
  constructor(public localPath: string) {}

  rename(path: string): void {
    this.localPath = path;
    this.pathChanged.emit(`Drive:${path}`);
  }
}

function view(context: Context): NotebookPanel {
  return { context } as unknown as NotebookPanel;
}

test('each rename of a notebook is told once, with both paths, until the panel is closed', () => {
  const [early, late] = [new Context('a.ipynb'), new Context('b.ipynb')];
  const widgetAdded = new Signal<object, NotebookPanel>({});
  const tracker = {
    forEach: (call: (panel: NotebookPanel) => void) => {
      call(view(early));
    },
    widgetAdded
  } as unknown as INotebookTracker;
  const told: string[][] = [];
  const stop = watchRenames(tracker, (...paths) => told.push(paths));
  widgetAdded.emit(view(late));
  // A second view of the same notebook.
  widgetAdded.emit(view(early));
  early.rename('c.ipynb');
  early.rename('d.ipynb');
  late.rename('a.ipynb');
  const expected = [
    ['a.ipynb', 'c.ipynb'],
    ['c.ipynb', 'd.ipynb'],
    ['b.ipynb', 'a.ipynb']
  ];
  expect(told).toEqual(expected);
  stop();
  early.rename('e.ipynb');
  widgetAdded.emit(view(new Context('f.ipynb')));
  expect(told).toEqual(expected);
});
