/**
 * Parses a diff in the unified format into lines with their numbers. Pure.
 *
 * This module draws nothing: `view/common/Diff.tsx` draws the lines.
 */

/** The kind of a line. `same`: a line around a change. `gap`: lines left out between two hunks (parts of the diff). */
export type DiffKind = 'add' | 'remove' | 'same' | 'gap';

/** One line of a diff, without the sign at its beginning. */
export interface DiffLine {
  readonly kind: DiffKind;
  readonly text: string;
  /** The number of the line in the file before the change. */
  readonly oldNumber?: number;
  /** The number of the line in the file after the change. */
  readonly newNumber?: number;
  /** The cell that begins here, if the line is the heading of one. */
  readonly cell?: CellHeading;
}

/** The heading of a cell in the diff of a notebook. */
export interface CellHeading {
  /** The number of the cell before the change, from 1; undefined for a new cell. */
  readonly number: number | undefined;
  /** `code`, `markdown` or `raw`. */
  readonly type: string;
}

/** Matches the head of a hunk, `@@ -12,3 +12,4 @@ name`, with the first line number before and after the change. */
const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

/**
 * Matches the heading of a cell, such as `# %% cell 3 [c3] code` or `# %% new cell [c4] markdown`, and in a new notebook
 * `# %% cell 1 of 3 code`. A line of a source that begins like a heading does not match, because the server puts a
 * backslash before it.
 */
const HEADING = /^# %% (?:cell (\d+)|new cell)(?: \[([^\]]*)\]| of \d+) (code|markdown|raw)$/;

/**
 * Return the lines of a diff. The head of each hunk becomes a line of the kind `gap`, unless the hunk begins with the
 * first line of the file: then nothing is left out before it.
 */
export function parseDiff(diff: string): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  // The numbers of the next line before and after the change.
  let [before, after] = [0, 0];
  // Whether the first hunk has begun. The lines above it name the files.
  let isInHunk = false;
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      [before, after, isInHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      if (Math.max(before, after) > 1) {
        lines.push({ kind: 'gap', text: hunk[3] ?? '' });
      }
    } else if (!isInHunk || line.startsWith('\\')) {
      // A line with a backslash says that the file has no line break at its end.
      continue;
    } else if (line.startsWith('+')) {
      lines.push({ kind: 'add', text: line.slice(1), newNumber: after++ });
    } else if (line.startsWith('-')) {
      lines.push({ kind: 'remove', text: line.slice(1), oldNumber: before++ });
    } else {
      lines.push({ kind: 'same', text: line.slice(1), oldNumber: before++, newNumber: after++ });
    }
  }
  return lines;
}

/**
 * Return the lines of the diff of a notebook, with the headings of its cells. The numbers of lines count within a cell.
 * A hunk may begin in the middle of a cell: then its first lines have no numbers.
 */
export function parseCellDiff(diff: string): readonly DiffLine[] {
  // The numbers of the next line of the cell; undefined while they are not known.
  let next: { oldNumber: number; newNumber: number } | undefined;
  return parseDiff(diff).map(({ kind, text }) => {
    const heading = kind === 'gap' ? null : HEADING.exec(text);
    if (heading !== null) {
      next = { oldNumber: 1, newNumber: 1 };
      const [, number, , type = ''] = heading;
      return { kind, text, cell: { number: number === undefined ? undefined : Number(number), type } };
    }
    if (kind === 'gap' || next === undefined) {
      next = undefined;
      return { kind, text };
    }
    return {
      kind,
      text,
      ...(kind !== 'add' && { oldNumber: next.oldNumber++ }),
      ...(kind !== 'remove' && { newNumber: next.newNumber++ })
    };
  });
}

/** Return the number that the diff of a notebook gives to the cell with this id; undefined if it gives it none. */
export function findCellNumber(diff: string, id: string): number | undefined {
  for (const line of diff.split('\n')) {
    const heading = /^[-+ ]/.test(line) ? HEADING.exec(line.slice(1)) : null;
    if (heading?.[1] !== undefined && heading[2] === id) {
      return Number(heading[1]);
    }
  }
  return undefined;
}
