/**
 * Describes where the cursor or the selection is in an editor: in the user's language for the chip above the prompt
 * box, and in English for the model.
 *
 * This module knows no notebook: `active_notebook.ts` adds the cell.
 */

import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { IDocumentWidget } from '@jupyterlab/docregistry';
import { TranslationBundle } from '@jupyterlab/translation';
import type { Widget } from '@lumino/widgets';

import { Range, TextContext } from '../wire/protocol';
import { baseName } from '../render/format';
import { EditorPlace } from '../view/composer/Chips';

/**
 * The number of lines before and after the cursor that are sent. It is usually enough for one function. The server uses
 * the same number for files.
 */
const LINES_AROUND = 20;

/** The lines of the cursor or the selection. An `EditorPlace` is different: it has the texts of a chip. */
export interface Place {
  /** The first line, counted from 1. */
  readonly first: number;
  /** The last line, which is included. */
  readonly last: number;
  /** The selected text; empty when nothing is selected. */
  readonly text: string;
}

/** Return the lines of the selection or, when nothing is selected, the line of the cursor. */
export function readPlace(editor: CodeEditor.IEditor): Place {
  const { start, end } = editor.getSelection();
  const source = editor.model.sharedModel.getSource();
  const text = source.slice(editor.getOffsetAt(start), editor.getOffsetAt(end));
  // A selection that ends before the first character of a line does not include that line.
  const last = end.column === 0 && end.line > start.line ? end.line - 1 : end.line;
  return { first: start.line + 1, last: last + 1, text };
}

/** Return the selection or, when nothing is selected, the cursor, counted from 0. */
export function readRange(editor: CodeEditor.IEditor): Range {
  const { start, end } = editor.getSelection();
  return {
    start: { line: start.line, character: start.column },
    end: { line: end.line, character: end.column }
  };
}

/** Describe the lines for the model. The text is not translated. */
export function formatLines({ first, last }: Place): string {
  return first === last ? `line ${String(first)}` : `lines ${String(first)} to ${String(last)}`;
}

/** Describe the place for the user. The text is translated. */
export function describePlace({ first, last, text }: Place, trans: TranslationBundle): string {
  if (text === '') {
    return trans.__('line %1', first);
  }
  return first === last ? trans.__('selected in line %1', first) : trans.__('selected in lines %1 to %2', first, last);
}

/** A file that is open in an editor. */
export interface OpenFile {
  readonly path: string;
  readonly editor: CodeEditor.IEditor;
}

/** Return the file that a widget edits; undefined when the widget does not edit a file. */
export function findFile(widget: Widget | null | undefined): OpenFile | undefined {
  const { context, content } = (widget ?? {}) as Partial<IDocumentWidget<Widget & { editor?: CodeEditor.IEditor }>>;
  const editor = content?.editor;
  return context === undefined || editor === undefined || editor.isDisposed
    ? undefined
    : { path: context.localPath, editor };
}

/** Describe the place in a file for the chip above the prompt box. */
export function describeFile({ path, editor }: OpenFile, trans: TranslationBundle): EditorPlace {
  const place = readPlace(editor);
  const placeText = describePlace(place, trans);
  const content =
    place.text === ''
      ? trans.__('the %1 lines before and after the cursor, as they are in the editor', LINES_AROUND)
      : trans.__('the selected text');
  return { label: `${baseName(path)} · ${placeText}`, detail: `${path}, ${placeText}`, content };
}

/** Return the selected text or, when nothing is selected, the lines around the cursor. Unsaved changes are included. */
export function toFileContext({ path, editor }: OpenFile): TextContext {
  const place = readPlace(editor);
  if (place.text !== '') {
    return { type: 'text', label: `selected in ${path}, ${formatLines(place)}`, content: place.text };
  }
  const first = Math.max(1, place.first - LINES_AROUND);
  const lines = editor.model.sharedModel
    .getSource()
    .split('\n')
    .slice(first - 1, place.last + LINES_AROUND);
  const linesText = formatLines({ first, last: first + lines.length - 1, text: '' });
  return {
    type: 'text',
    label: `${path}, ${linesText}, cursor in line ${String(place.first)}`,
    content: lines.join('\n')
  };
}
