/**
 * Finds Lab's open documents and reads them again, keeping cursors where they are. A document may be shown by several
 * views (widgets). Lab calls what these views share the context of the document.
 *
 * `refresh.ts` decides when a document is read again.
 */

import { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { IDocumentWidget } from '@jupyterlab/docregistry';
import { Notebook } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';

import { DocumentContext, Refresher } from './refresh';
import { baseName } from '../render/format';

/** Create a `Refresher` for the documents that are open in Lab. */
export function createRefresher(app: JupyterFrontEnd, trans: TranslationBundle): Refresher {
  const { contents } = app.serviceManager;
  return new Refresher({
    listDocuments: () => [...new Set(listDocumentWidgets(app).map(({ context }) => context))],
    readMetadata: path => contents.get(path, { content: false, hash: true }),
    reload: context => reload(listDocumentWidgets(app), context),
    reportConflict: (path, discardAndReload) => {
      const message = trans.__(
        '“%1” was changed on disk, and you have unsaved changes in it. Both are kept.',
        baseName(path)
      );
      const actions = [
        {
          label: trans.__('Discard Mine and Reload'),
          caption: trans.__('What you have not saved is lost'),
          callback: discardAndReload,
          displayType: 'warn' as const
        },
        { label: trans.__('Keep Mine'), callback: () => undefined }
      ];
      Notification.warning(message, { autoClose: false, actions });
    }
  });
}

/** List the views of all open documents. A document may have several. */
function listDocumentWidgets({ shell }: JupyterFrontEnd): IDocumentWidget[] {
  const widgets = ['main', 'left', 'right', 'down'].flatMap(area => listWidgets(shell, area));
  return widgets.filter((widget): widget is IDocumentWidget => 'context' in widget && !widget.isDisposed);
}

/** List the widgets of an area of Lab; none if this version of Lab has no such area: older ones have no `down`. */
function listWidgets(shell: JupyterFrontEnd.IShell, area: string): readonly Widget[] {
  try {
    return [...shell.widgets(area)];
  } catch {
    return [];
  }
}

/**
 * Read a document again. The cursors of all its views stay where they were, if that place still exists.
 * `documentWidgets` are the views of all documents.
 */
async function reload(documentWidgets: readonly IDocumentWidget[], context: DocumentContext): Promise<void> {
  const views = documentWidgets.filter(widget => widget.context === context);
  const restoreFunctions = views.map(({ content }) => rememberCursor(content));
  await context.revert();
  context.model.dirty = false;
  for (const restore of restoreFunctions) {
    restore();
  }
}

/** Return a function that puts the cursor of a view back to where it is now. */
function rememberCursor(content: Widget): () => void {
  if (content instanceof Notebook) {
    const id = content.activeCell?.model.id;
    return () => {
      const index = content.widgets.findIndex(({ model }) => model.id === id);
      if (index >= 0) {
        content.activeCellIndex = index;
      }
    };
  }
  const { editor } = content as { editor?: CodeEditor.IEditor };
  const cursor = editor?.getCursorPosition();
  return () => {
    if (editor !== undefined && cursor !== undefined) {
      const line = Math.min(cursor.line, editor.lineCount - 1);
      editor.setCursorPosition({ line, column: Math.min(cursor.column, editor.getLine(line)?.length ?? 0) });
    }
  };
}
