/**
 * Reads the diagnostics that linters show in the editors of a notebook: those of language servers (jupyterlab-lsp) and
 * of all others that use CodeMirror's lint package.
 *
 * The diagnostics are read from the marks that CodeMirror draws into the text (its decorations). The state of the lint
 * package cannot be read, because each extension brings its own copy of the package. This module knows no server:
 * `live_notebooks.ts` answers the server's requests.
 */

import type { EditorState } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { Notebook } from '@jupyterlab/notebook';

import { EditorDiagnostic, Severity } from '../wire/protocol';

/** The scheme of the URIs of notebooks and cells. They are like `jupyter:folder/notebook.ipynb#cell-id`. */
const SCHEME = 'jupyter:';

/** What `@codemirror/lint` stores in a mark: several diagnostics or, before version 6.8, one diagnostic. */
interface LintMark {
  readonly diagnostic?: Finding;
  readonly diagnostics?: readonly Finding[];
}

/** A diagnostic as `@codemirror/lint` has it. `from` and `to` are offsets in the text. */
interface Finding {
  readonly from: number;
  readonly to: number;
  readonly severity: Severity;
  readonly message: string;
  readonly source?: string;
}

/** Return the URI of a notebook or of one of its cells. */
export function toUri(path: string, cell?: string): string {
  const fragment = cell === undefined ? '' : `#${encodeURIComponent(cell)}`;
  return `${SCHEME}${path.split('/').map(encodeURIComponent).join('/')}${fragment}`;
}

/** Return the path of a notebook's URI; undefined for a URI with another scheme, and for one that is malformed. */
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
    // A facet is the key of a value in an editor's state. It is read from the editor's own class, because another copy
    // of CodeMirror has another facet.
    const { decorations } = view.constructor as typeof EditorView;
    return listFindings(view.state, decorations).map(finding =>
      toDiagnostic(toUri(path, cell.model.id), view.state, finding)
    );
  });
}

/** List the findings, each of them once. Where findings overlap, a finding has more than one mark. */
export function listFindings(state: EditorState, decorations: typeof EditorView.decorations): Finding[] {
  const findings = new Set<Finding>();
  for (const decorationSet of state.facet(decorations)) {
    // Some extensions provide a function that computes the decorations. The lint package provides none, so functions
    // are skipped.
    if (typeof decorationSet === 'function') {
      continue;
    }
    const mark = decorationSet.iter();
    while (mark.value !== null) {
      const { diagnostic, diagnostics } = mark.value.spec as LintMark;
      for (const finding of [...(diagnostics ?? []), ...(diagnostic === undefined ? [] : [diagnostic])]) {
        findings.add(finding);
      }
      mark.next();
    }
  }
  return [...findings];
}

/** Return a finding as the server reads it, with lines and columns that count from 0. `uri` is that of the cell. */
export function toDiagnostic(uri: string, state: EditorState, finding: Finding): EditorDiagnostic {
  const { severity, message, source } = finding;
  const range = { start: toPosition(state, finding.from), end: toPosition(state, finding.to) };
  return { uri, severity, source: source ?? 'editor', range, message };
}

/**
 * Return the position of an offset. If the text has become shorter than that, return the position of the text's end.
 */
function toPosition({ doc }: EditorState, offset: number): { readonly line: number; readonly character: number } {
  const validOffset = Math.max(0, Math.min(offset, doc.length));
  const line = doc.lineAt(validOffset);
  return { line: line.number - 1, character: validOffset - line.from };
}
