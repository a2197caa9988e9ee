/**
 * What linters have found in a notebook's editors: language servers (jupyterlab-lsp) and whoever else uses CodeMirror's
 * lint. It is read off the marks in the text, as each of them brings a copy of that package with a state of its own.
 */

import type { EditorState } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { Notebook } from '@jupyterlab/notebook';

import { EditorDiagnostic, Severity } from '../wire/protocol';

const SCHEME = 'jupyter:';

/** As `@codemirror/lint` keeps it beside a mark: several, and before its version 6.8 one. */
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

/** Undefined of a URI that is not Jupyter's. */
export function parsePath(uri: string): string | undefined {
  try {
    return uri.startsWith(SCHEME) ? decodeURIComponent(uri.slice(SCHEME.length).replace(/#.*$/, '')) : undefined;
  } catch {
    return undefined;
  }
}

/** A cell that was never in sight has no editor, and nothing found in it. */
export function listDiagnostics(path: string, notebook: Notebook): EditorDiagnostic[] {
  return notebook.widgets.flatMap(cell => {
    const view = (cell.editor as Partial<CodeMirrorEditor> | null)?.editor;
    if (view === undefined) {
      return [];
    }
    // Its own class: another copy of the package has another facet.
    const { decorations } = view.constructor as typeof EditorView;
    return listFindings(view.state, decorations).map(found =>
      toDiagnostic(toUri(path, cell.model.id), view.state, found)
    );
  });
}

/** Each once: where several meet, each of them has more than one mark. */
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

/** What was found before the text became shorter lies at its end. */
function positionAt({ doc }: EditorState, offset: number): { readonly line: number; readonly character: number } {
  const at = Math.max(0, Math.min(offset, doc.length));
  const line = doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}
