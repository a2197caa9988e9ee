/** Reports the new path of each open notebook that is renamed or moved. */

import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

/** What the views of a notebook share, in Lab: its path and its model, for example. */
type NotebookContext = NotebookPanel['context'];

/**
 * Call `onRename` with the old and the new path of each open notebook that is renamed, once for all its views. The
 * returned function ends this.
 */
export function watchRenames(tracker: INotebookTracker, onRename: (from: string, to: string) => void): () => void {
  const paths = new Map<NotebookContext, string>();
  const report = (context: NotebookContext): void => {
    const from = paths.get(context) ?? context.localPath;
    paths.set(context, context.localPath);
    onRename(from, context.localPath);
  };
  const forget = (context: NotebookContext): void => {
    paths.delete(context);
  };
  const watch = (_: unknown, { context }: NotebookPanel): void => {
    paths.set(context, context.localPath);
    // A second view has the same context: Lumino connects a function to a signal only once.
    context.pathChanged.connect(report);
    context.disposed.connect(forget);
  };
  tracker.forEach(panel => {
    watch(tracker, panel);
  });
  tracker.widgetAdded.connect(watch);
  return () => {
    tracker.widgetAdded.disconnect(watch);
    for (const context of paths.keys()) {
      context.pathChanged.disconnect(report);
      context.disposed.disconnect(forget);
    }
  };
}
