/**
 * Computes the differences between two texts as hunks of whole lines. The user decides about each hunk, and may edit
 * the text meanwhile. Pure.
 *
 * For example, the text `a\nb\nc` and the other text `a\nB\nc` have one hunk: the characters from 2 to 4, `b\n`, for
 * which the other text has `B\n`. A line that only the other text has is a hunk whose `from` and `to` are equal.
 *
 * Applying a hunk puts the other text in its place. Dropping a hunk leaves the text as it is. When the text is edited,
 * the hunks move with it. If the user has edited the lines of a hunk (`isEdited`), applying it would remove what the
 * user wrote. So it is applied only when the user decides about this hunk, and never together with others. This module
 * knows no cell: `cell_diff.ts` keeps the hunks of a cell.
 */

import { Change, diff } from '@codemirror/merge';

/** A difference between a text and the other text. */
export interface Hunk {
  /** Identifies the hunk among those of the same comparison. */
  readonly id: number;
  /** The offset in the text at which the hunk begins. */
  readonly from: number;
  /** The offset in the text after the last character of the hunk. */
  readonly to: number;
  /** The part of the other text that would replace these characters. */
  readonly otherText: string;
  /** Whether the user has edited these lines since the texts were compared. */
  readonly isEdited: boolean;
  /** For a change that a tool call proposes: whether the user has left this hunk out, so that it is not made. */
  readonly isLeftOut?: boolean;
}

/** A text, and its hunks in the order of their places. */
export interface TextWithHunks {
  readonly text: string;
  readonly hunks: readonly Hunk[];
}

/** A change of a text as Yjs, the library that keeps the shared document, reports it. */
export type Delta = readonly { readonly retain?: number; readonly insert?: unknown; readonly delete?: number }[];

/**
 * The most distinct lines that two texts may have together, if they are to be compared line by line. Lines that are
 * equal count once. For the comparison, each distinct line is encoded as one character, whose code is the number of the
 * line. Characters from this code on are surrogates: only a pair of them is a character, so they cannot stand for
 * lines.
 */
const MAX_DISTINCT_LINES = 0xd800;

/** Compare two texts line by line and return the hunks. */
export function findHunks(text: string, other: string): readonly Hunk[] {
  if (text === other) {
    return [];
  }
  const [lines, otherLines] = [text.split('\n'), other.split('\n')];
  const [starts, otherStarts] = [findLineStarts(lines), findLineStarts(otherLines)];
  const getStart = (places: readonly number[], line: number): number => places[line] ?? 0;
  // A difference has the lines from `fromA` up to, but not including, `toA` of the text, and likewise from `fromB` to
  // `toB` of the other text. The offsets of these lines are the limits of the hunk.
  return diffLines(lines, otherLines).map(({ fromA, toA, fromB, toB }, id) => {
    let [from, to] = [getStart(starts, fromA), getStart(starts, toA)];
    let [otherFrom, otherTo] = [getStart(otherStarts, fromB), getStart(otherStarts, toB)];
    if (to > text.length) {
      // The hunk reaches to the end of the text, where no line break follows. So it ends one character earlier. If it
      // only adds or removes lines, the line break before them is added or removed, too. Then the hunk also begins one
      // character earlier.
      const shift = Number(from === to || otherFrom === otherTo);
      [from, to, otherFrom, otherTo] = [from - shift, to - 1, otherFrom - shift, otherTo - 1];
    }
    return { id, from, to, otherText: other.slice(otherFrom, otherTo), isEdited: false };
  });
}

/** Return the offset of each line, and the offset at which a line after the last would begin. */
function findLineStarts(lines: readonly string[]): readonly number[] {
  const starts = [0];
  for (const line of lines) {
    starts.push((starts.at(-1) ?? 0) + line.length + 1);
  }
  return starts;
}

/**
 * Return the differences between two lists of lines, as ranges of line indexes. `diff` compares characters, so each
 * distinct line is encoded as one character. With too many distinct lines, all lines are one difference.
 */
function diffLines(lines: readonly string[], otherLines: readonly string[]): readonly Change[] {
  const codes = new Map<string, number>();
  const encode = (list: readonly string[]): string =>
    list
      .map(line => {
        const code = codes.get(line) ?? codes.size;
        codes.set(line, code);
        return String.fromCharCode(Math.min(code, MAX_DISTINCT_LINES - 1));
      })
      .join('');
  const [a, b] = [encode(lines), encode(otherLines)];
  return codes.size < MAX_DISTINCT_LINES ? diff(a, b) : [new Change(0, lines.length, 0, otherLines.length)];
}

/**
 * Return the change that turns `before` into `after`. For example, `abc` and `aXc` give
 * `[{ retain: 1 }, { insert: 'X' }, { delete: 1 }]`.
 */
export function computeDelta(before: string, after: string): Delta {
  // The offset in `before` up to which the delta has been computed.
  let offset = 0;
  return diff(before, after).flatMap(({ fromA, toA, fromB, toB }) => {
    const retain = fromA - offset;
    offset = toA;
    return [{ retain }, { insert: after.slice(fromB, toB) }, { delete: toA - fromA }];
  });
}

/**
 * Return the text and its hunks after a change: the hunks are moved with their lines. A hunk is removed when its lines
 * have become equal to the other text.
 */
export function mapHunks(textWithHunks: TextWithHunks, delta: Delta): TextWithHunks {
  let { text, hunks } = textWithHunks;
  let offset = 0;
  // A part of a delta keeps characters, inserts some, or deletes some. `offset` is the offset after the parts so far.
  for (const { retain = 0, insert, delete: deleted = 0 } of delta) {
    offset += retain;
    const inserted = typeof insert === 'string' ? insert : '';
    const [before, start, end] = [text, offset, offset + deleted];
    const after = before.slice(0, start) + inserted + before.slice(end);
    hunks = hunks
      .map(hunk =>
        inserted === '' ? mapDeletion(hunk, start, end) : mapInsertion(hunk, before, start, inserted.length)
      )
      // An edit may have joined the first line of the hunk with the line before it.
      .map(hunk => (isAtLineStart(hunk, after) ? hunk : { ...hunk, isEdited: true }));
    text = after;
    offset += inserted.length;
  }
  return { text, hunks: hunks.filter(({ from, to, otherText }) => text.slice(from, to) !== otherText) };
}

/** Return the hunk after `length` characters were inserted at the offset `at`. `text` is the text before that. */
function mapInsertion(hunk: Hunk, text: string, at: number, length: number): Hunk {
  const { from, to, otherText } = hunk;
  const ownText = text.slice(from, to);
  const moved = { ...hunk, from: from + length, to: to + length };
  if (at < from) {
    return moved;
  }
  if (at > to) {
    return hunk;
  }
  if (ownText === '') {
    // The hunk inserts lines here. They come before the line that begins here or, with a leading line break, after the
    // line that ends here.
    return otherText.startsWith('\n') ? moved : hunk;
  }
  if (at === from && ownText.startsWith('\n')) {
    // The hunk begins with the line break at the end of the line before it. The user has typed at the end of that line.
    return moved;
  }
  return at === to && ownText.endsWith('\n') ? hunk : { ...hunk, to: to + length, isEdited: true };
}

/** Return the hunk after the characters from `start` up to, but not including, `end` were deleted. */
function mapDeletion(hunk: Hunk, start: number, end: number): Hunk {
  const { from, to, isEdited } = hunk;
  // An offset moves back by the number of deleted characters before it.
  const moveBack = (place: number): number => place - Math.max(Math.min(place, end) - start, 0);
  return {
    ...hunk,
    from: moveBack(from),
    to: moveBack(to),
    isEdited: isEdited || (start < to && end > from && start < end)
  };
}

/**
 * Whether the hunk still begins at the start of a line. A hunk with a leading line break begins at the end of a line.
 */
function isAtLineStart({ from, to, otherText }: Hunk, text: string): boolean {
  const beginsWithLineBreak = text.slice(from, to).startsWith('\n') || (from === to && otherText.startsWith('\n'));
  return beginsWithLineBreak ? from === text.length || text[from] === '\n' : from === 0 || text[from - 1] === '\n';
}

/** Return the text in which the other text of a hunk is in its place, and the remaining hunks. */
export function applyHunk({ text, hunks }: TextWithHunks, id: number): TextWithHunks {
  const index = hunks.findIndex(hunk => hunk.id === id);
  const hunk = hunks[index];
  if (hunk === undefined) {
    return { text, hunks };
  }
  // The hunks after this one move by the difference of the lengths.
  const shift = hunk.otherText.length - (hunk.to - hunk.from);
  const later = hunks.slice(index + 1).map(next => ({ ...next, from: next.from + shift, to: next.to + shift }));
  return {
    text: text.slice(0, hunk.from) + hunk.otherText + text.slice(hunk.to),
    hunks: [...hunks.slice(0, index), ...later]
  };
}

/** Apply all hunks except those that the user has edited. */
export function applyAllHunks(textWithHunks: TextWithHunks): TextWithHunks {
  return textWithHunks.hunks.reduce<TextWithHunks>(
    (now, { id, isEdited }) => (isEdited ? now : applyHunk(now, id)),
    textWithHunks
  );
}

/** Remove a hunk and leave the text as it is. */
export function dropHunk({ text, hunks }: TextWithHunks, id: number): TextWithHunks {
  return { text, hunks: hunks.filter(hunk => hunk.id !== id) };
}

/**
 * Return the hunks between a text and an answer that is incomplete. Its last line may be half written and is left out.
 * Lines that the answer does not have yet do not count as removed.
 */
export function findHunksSoFar(text: string, answer: string): readonly Hunk[] {
  const end = answer.lastIndexOf('\n');
  return (end < 0 ? [] : findHunks(text, answer.slice(0, end))).flatMap(hunk => {
    const { from, to, otherText } = hunk;
    if (to < text.length || from === to) {
      return [hunk];
    }
    // This hunk reaches to the end of the text, because the answer is incomplete. So it only inserts its lines.
    return otherText === '' ? [] : [{ ...hunk, to: from, otherText: `${otherText}\n` }];
  });
}
