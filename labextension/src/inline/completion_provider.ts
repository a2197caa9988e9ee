/**
 * Inline completions (ghost text) from the server's fast model. Only the newest one counts; a key press cancels it.
 *
 * Uses a link of its own, because the panel need not be open. A user who types is told of each failure once, quietly.
 * Knows no setting: `plugin.ts` switches it on and off.
 */

import { Notification } from '@jupyterlab/apputils';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { CompletionHandler, IInlineCompletionItem, IInlineCompletionList } from '@jupyterlab/completer';
import { Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection } from '@jupyterlab/services';
import type { Widget } from '@lumino/widgets';

import { CellAbove, commentOf, buildDocument } from './completion_context';
import { Client } from '../wire/client';
import { openLink } from '../wire/link';
import { Code, LinkError, RpcError } from '../wire/rpc';

const NOTHING: IInlineCompletionList = { items: [] };
/** Keys that change no text when they are pressed alone. */
const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph', 'CapsLock'];

export class InlineCompletions {
  private client: Promise<Client> | undefined;
  private version = 0;
  private readonly reported = new Set<string>();
  private current: AbortController | undefined;

  constructor(private readonly settings: ServerConnection.ISettings) {}

  /** Return completions; none when that fails. `ms` is how long Lab waits for them. */
  async complete(request: CompletionHandler.IRequest, widget: Widget, ms: number): Promise<IInlineCompletionList> {
    this.current?.abort();
    const controller = (this.current = new AbortController());
    const editor = editorOf(widget);
    const stopListening = editor === undefined ? undefined : abortOnInput(editor, controller);
    const timer = window.setTimeout(() => {
      controller.abort();
    }, ms);
    try {
      return { items: await this.ask(request, widget, controller.signal) };
    } catch (error) {
      this.reportOnce(error);
      return NOTHING;
    } finally {
      window.clearTimeout(timer);
      stopListening?.();
    }
  }

  /** Connect before the first request: connecting can take longer than Lab waits for a completion. */
  warmUp(): void {
    this.connect().catch(() => undefined);
  }

  close(): void {
    this.current?.abort();
    void this.client?.then(
      client => {
        client.close();
      },
      () => undefined
    );
    this.client = undefined;
  }

  private async ask(
    { text, offset, mimeType = '' }: CompletionHandler.IRequest,
    widget: Widget,
    signal: AbortSignal
  ): Promise<IInlineCompletionItem[]> {
    const above = widget instanceof NotebookPanel ? cellsAbove(widget.content) : [];
    const docVersion = ++this.version;
    const params = { docVersion, ...buildDocument(text, offset, above, commentOf(mimeType)) };
    const client = await this.connect();
    const { items } = await client.request('completion/inline', params, signal);
    return items.filter(item => item.docVersion === docVersion).map(item => ({ insertText: item.text }));
  }

  private connect(): Promise<Client> {
    if (this.client === undefined) {
      const client = openLink(this.settings).then(link =>
        Client.connectForCompletion(link, () => {
          this.client = undefined;
        })
      );
      this.client = client;
      client.catch(() => {
        this.client = undefined;
      });
    }
    return this.client;
  }

  /** Add an error to Lab's list of notifications, once and without a pop-up. */
  private reportOnce(error: unknown): void {
    const expected = error instanceof LinkError || (error instanceof RpcError && error.code === Code.cancelled);
    if (!expected) {
      const message = error instanceof Error ? error.message : String(error);
      if (!this.reported.has(message)) {
        this.reported.add(message);
        Notification.info(message, { autoClose: 0 });
      }
    }
  }
}

function editorOf(widget: Widget): CodeEditor.IEditor | undefined {
  if (widget instanceof NotebookPanel) {
    return widget.content.activeCell?.editor ?? undefined;
  }
  const { content } = widget as { content?: { editor?: CodeEditor.IEditor } };
  return content?.editor;
}

function cellsAbove({ widgets, activeCellIndex }: Notebook): CellAbove[] {
  return widgets
    .slice(0, Math.max(0, activeCellIndex))
    .filter(({ model }) => model.type !== 'raw')
    .map(({ model }) => ({ code: model.type === 'code', source: model.sharedModel.getSource() }));
}

/** Abort when the user continues: by a key, by a click, or in another editor. The returned function stops listening. */
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
