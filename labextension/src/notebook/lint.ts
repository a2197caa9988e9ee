/**
 * Reads what linters have found in the editors of a notebook: language servers (jupyterlab-lsp) and all others that use
 * CodeMirror's lint package.
 *
 * It is read from the marks in the text, because each extension brings its own copy of the package with its own state.
 * Knows no server: `live_notebooks.ts` answers its requests.
 */

import type { EditorState } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { Notebook } from '@jupyterlab/notebook';

import { EditorDiagnostic, Severity } from '../wire/protocol';

const SCHEME = 'jupyter:';

/** What `@codemirror/lint` keeps with a mark: several diagnostics or, before version 6.8, one. */
interface LintMark {
  readonly diagnostic?: Finding;
  readonly diagnostics?: readonly Finding[];
}

interface Finding {
  readonly from: number;
  readonly to: number;
  readonly severity: Severity;
  readonly message: string;
  readonly source?: string;
}

export function toUri(path: string, cell?: string): string {
  const fragment = cell === undefined ? '' : `#${encodeURIComponent(cell)}`;
  return `${SCHEME}${path.split('/').map(encodeURIComponent).join('/')}${fragment}`;
}

/** Return the path of a notebook's URI; undefined for a URI with another scheme. */
export function parsePath(uri: string): string | undefined {
  try {
    return uri.startsWith(SCHEME) ? decodeURIComponent(uri.slice(SCHEME.length).replace(/#.*$/, '')) : undefined;
  } catch {
    return undefined;
  }
}

/** List the diagnostics of a notebook. A cell that was never visible has no editor, and so no diagnostics. */
export function listDiagnostics(path: string, notebook: Notebook): EditorDiagnostic[] {
  return notebook.widgets.flatMap(cell => {
    const view = (cell.editor as Partial<CodeMirrorEditor> | null)?.editor;
    if (view === undefined) {
      return [];
    }
    // From the editor's own class: another copy of the package has another facet.
    const { decorations } = view.constructor as typeof EditorView;
    return listFindings(view.state, decorations).map(found =>
      toDiagnostic(toUri(path, cell.model.id), view.state, found)
    );
  });
}

/** List each finding once. Where findings overlap, each has more than one mark. */
export function listFindings(state: EditorState, decorations: typeof EditorView.decorations): Finding[] {
  const found = new Set<Finding>();
  for (const set of state.facet(decorations)) {
    if (typeof set === 'function') {
      continue;
    }
    const mark = set.iter();
    while (mark.value !== null) {
      const { diagnostic, diagnostics } = mark.value.spec as LintMark;
      for (const one of [...(diagnostics ?? []), ...(diagnostic === undefined ? [] : [diagnostic])]) {
        found.add(one);
      }
      mark.next();
    }
  }
  return [...found];
}

export function toDiagnostic(uri: string, state: EditorState, finding: Finding): EditorDiagnostic {
  const { severity, message, source } = finding;
  const range = { start: positionAt(state, finding.from), end: positionAt(state, finding.to) };
  return { uri, severity, source: source ?? 'editor', range, message };
}

/** Return the position of an offset. An offset from before the text became shorter becomes its end. */
function positionAt({ doc }: EditorState, offset: number): { readonly line: number; readonly character: number } {
  const at = Math.max(0, Math.min(offset, doc.length));
  const line = doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}
