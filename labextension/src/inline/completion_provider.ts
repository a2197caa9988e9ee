/**
 * Requests inline completions: grey text after the cursor, which shows how the code could continue. A fast model, which
 * the server chooses, writes the text. A new request or a key press cancels the earlier request.
 *
 * An error of the server is reported only the first time, and without a pop-up, so that it does not disturb a user who
 * types. A cancelled request and a lost link are never reported: the next request opens the link again. This module
 * knows no setting and no server: `plugin.ts` switches completions on and off, and `completion_link.ts` sends the
 * requests.
 */

import { Notification } from '@jupyterlab/apputils';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { CompletionHandler, IInlineCompletionList } from '@jupyterlab/completer';
import { Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import type { Widget } from '@lumino/widgets';

import { CellAbove, CompletionDocument, findCommentSign, buildDocument } from './completion_context';
import { CompletionLink } from './completion_link';
import { Code, LinkError, RpcError } from '../wire/rpc';

/** The result of a request that failed. */
const NO_COMPLETIONS: IInlineCompletionList = { items: [] };
/** Keys that do not change the text when they are pressed alone. */
const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph', 'CapsLock'];

/** Requests completions for Lab, one at a time. */
export class InlineCompletions {
  private readonly link: CompletionLink;
  /** The error messages that the user has seen. */
  private readonly reportedErrors = new Set<string>();
  /** Cancels the last request when its `abort` is called. */
  private lastController: AbortController | undefined;

  constructor(settings: ServerConnection.ISettings) {
    this.link = new CompletionLink(settings);
  }

  /** Return completions; an empty list after an error. `ms` is the time in milliseconds that Lab waits for them. */
  async complete(request: CompletionHandler.IRequest, widget: Widget, ms: number): Promise<IInlineCompletionList> {
    this.lastController?.abort();
    const controller = (this.lastController = new AbortController());
    const editor = findEditor(widget);
    const stopListening = editor === undefined ? undefined : abortOnInput(editor, controller);
    const timer = window.setTimeout(() => {
      controller.abort();
    }, ms);
    try {
      const texts = await this.link.request(describeDocument(request, widget), controller.signal);
      return { items: texts.map(text => ({ insertText: text })) };
    } catch (error) {
      this.reportOnce(error);
      return NO_COMPLETIONS;
    } finally {
      window.clearTimeout(timer);
      stopListening?.();
    }
  }

  /** Cancel the last request and close the link. */
  close(): void {
    this.lastController?.abort();
    this.link.close();
  }

  /** Add an error of the server to Lab's list of notifications, once and without a pop-up. */
  private reportOnce(error: unknown): void {
    const isExpected = error instanceof LinkError || (error instanceof RpcError && error.code === Code.cancelled);
    if (!isExpected) {
      const message = error instanceof Error ? error.message : String(error);
      if (!this.reportedErrors.has(message)) {
        this.reportedErrors.add(message);
        Notification.info(message, { autoClose: 0 });
      }
    }
  }
}

/** Return the document in which the user types, as it is sent to the server. */
function describeDocument(
  { text, offset, mimeType = '' }: CompletionHandler.IRequest,
  widget: Widget
): CompletionDocument {
  const above = widget instanceof NotebookPanel ? listCellsAbove(widget.content) : [];
  return buildDocument(text, offset, above, findCommentSign(mimeType));
}

/** Return the editor of the active cell or, in a view of a file, that of the file; undefined when there is none. */
function findEditor(widget: Widget): CodeEditor.IEditor | undefined {
  if (widget instanceof NotebookPanel) {
    return widget.content.activeCell?.editor ?? undefined;
  }
  const { content } = widget as { content?: { editor?: CodeEditor.IEditor } };
  return content?.editor;
}

/** Return the cells above the active cell, from the top. Raw cells are left out. */
function listCellsAbove({ widgets, activeCellIndex }: Notebook): CellAbove[] {
  return widgets
    .slice(0, Math.max(0, activeCellIndex))
    .filter(({ model }) => model.type !== 'raw')
    .map(({ model }) => ({ isCode: model.type === 'code', source: model.sharedModel.getSource() }));
}

/**
 * Abort a request when the user does something else, because its completions would come too late: when the user presses
 * a key, clicks, or leaves the editor, or when the text changes. The returned function stops listening.
 */
function abortOnInput(editor: CodeEditor.IEditor, controller: AbortController): () => void {
  const abort = (event?: unknown): void => {
    if (!(event instanceof KeyboardEvent) || !MODIFIERS.includes(event.key)) {
      controller.abort();
    }
  };
  const handleChange = (): void => {
    abort();
  };
  const events = ['keydown', 'mousedown', 'focusout'] as const;
  for (const event of events) {
    editor.host.addEventListener(event, abort, true);
  }
  const { sharedModel } = editor.model;
  sharedModel.changed.connect(handleChange);
  return () => {
    for (const event of events) {
      editor.host.removeEventListener(event, abort, true);
    }
    sharedModel.changed.disconnect(handleChange);
  };
}
