/**
 * Parses a diff in the unified format into lines with their numbers. Pure.
 *
 * This module draws nothing: `view/common/Diff.tsx` draws the lines.
 */

/** `same`: a line around a change. `gap`: lines that are left out between two hunks, which are the parts of a diff. */
export type DiffKind = 'add' | 'remove' | 'same' | 'gap';

/** One line of a diff, without the sign at its beginning. */
export interface DiffLine {
  readonly kind: DiffKind;
  readonly text: string;
  /** The number of the line in the file before the change. */
  readonly old?: number;
  /** The number of the line in the file after the change. */
  readonly new?: number;
}

/** Matches the head of a hunk, `@@ -12,3 +12,4 @@ name`, with the first line number before and after the change. */
const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

/** Return the lines of a diff. The head of each hunk becomes a line of the kind `gap`. */
export function parseDiff(diff: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  // The numbers of the next line before and after the change.
  let [before, after] = [0, 0];
  // Whether the first hunk has begun. The lines above it name the files.
  let inside = false;
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      [before, after, inside] = [Number(hunk[1]), Number(hunk[2]), true];
      lines.push({ kind: 'gap', text: hunk[3] ?? '' });
    } else if (!inside || line.startsWith('\\')) {
      // A line with a backslash says that the file has no line break at its end.
      continue;
    } else if (line.startsWith('+')) {
      lines.push({ kind: 'add', text: line.slice(1), new: after++ });
    } else if (line.startsWith('-')) {
      lines.push({ kind: 'remove', text: line.slice(1), old: before++ });
    } else {
      lines.push({ kind: 'same', text: line.slice(1), old: before++, new: after++ });
    }
  }
  return lines;
}
