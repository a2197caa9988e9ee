/**
 * What differs between a text and another one, in hunks of whole lines that are decided one by one while the text goes
 * on being written. Pure.
 *
 * A hunk that is applied puts the other text in its place, one that is dropped leaves things as they are. What somebody
 * writes moves the hunks along. A hunk that was written in is `touched`: applying it would take away what was written,
 * so nothing but a decision about this very hunk does that.
 */

import { diff } from '@codemirror/merge';

/** `[from, to)` of the text, against `other`. */
export interface Hunk {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly other: string;
  readonly touched: boolean;
}

export interface TextWithHunks {
  readonly text: string;
  readonly hunks: readonly Hunk[];
}

/** As Yjs tells of a change. */
export type Delta = readonly { readonly retain?: number; readonly insert?: unknown; readonly delete?: number }[];

/** A line is one character for the diff; from here on characters come in pairs. */
const MOST_LINES = 0xd800;

export function findHunks(text: string, other: string): readonly Hunk[] {
  const [ours, theirs] = [text.split('\n'), other.split('\n')];
  const [starts, others] = [findLineStarts(ours), findLineStarts(theirs)];
  const at = (places: readonly number[], line: number): number => places[line] ?? 0;
  return diffLines(ours, theirs).map(({ fromA, toA, fromB, toB }, id) => {
    let [from, to] = [at(starts, fromA), at(starts, toA)];
    let [first, end] = [at(others, fromB), at(others, toB)];
    if (to > text.length) {
      // The last line has no line break after it: one that comes or goes there takes the one before it along.
      const shift = Number(from === to || first === end);
      [from, to, first, end] = [from - shift, to - 1, first - shift, end - 1];
    }
    return { id, from, to, other: other.slice(first, end), touched: false };
  });
}

/** Where each line begins, and where one after the last would. */
function findLineStarts(lines: readonly string[]): readonly number[] {
  const starts = [0];
  for (const line of lines) {
    starts.push((starts.at(-1) ?? 0) + line.length + 1);
  }
  return starts;
}

function diffLines(ours: readonly string[], theirs: readonly string[]): ReturnType<typeof diff> {
  const codes = new Map<string, number>();
  const encode = (lines: readonly string[]): string =>
    lines
      .map(line => {
        const code = codes.get(line) ?? codes.size;
        codes.set(line, code);
        return String.fromCharCode(Math.min(code, MOST_LINES - 1));
      })
      .join('');
  const [a, b] = [encode(ours), encode(theirs)];
  return codes.size < MOST_LINES ? diff(a, b) : diff('a', 'b');
}

/** What made `after` of `before`. */
export function computeDelta(before: string, after: string): Delta {
  let at = 0;
  return diff(before, after).flatMap(({ fromA, toA, fromB, toB }) => {
    const retain = fromA - at;
    at = toA;
    return [{ retain }, { insert: after.slice(fromB, toB) }, { delete: toA - fromA }];
  });
}

/** As they are after `delta`, which was made in their text. One that the writer has carried out is none any more. */
export function mapHunks(hunked: TextWithHunks, delta: Delta): TextWithHunks {
  let { text, hunks } = hunked;
  let at = 0;
  for (const { retain = 0, insert, delete: gone = 0 } of delta) {
    at += retain;
    const put = typeof insert === 'string' ? insert : '';
    const [before, place, end] = [text, at, at + gone];
    text = before.slice(0, place) + put + before.slice(end);
    const after = text;
    hunks = hunks
      .map(hunk => (put === '' ? mapDeletion(hunk, place, end) : mapInsertion(hunk, before, place, put.length)))
      .map(hunk => (isWhole(hunk, after) ? hunk : { ...hunk, touched: true }));
    at += put.length;
  }
  const now = text;
  return { text: now, hunks: hunks.filter(({ from, to, other }) => now.slice(from, to) !== other) };
}

function mapInsertion(hunk: Hunk, text: string, at: number, length: number): Hunk {
  const { from, to, other } = hunk;
  const held = text.slice(from, to);
  const behind = { ...hunk, from: from + length, to: to + length };
  if (at < from || at > to) {
    return at < from ? behind : hunk;
  }
  if (held === '') {
    // Where lines are to come: before the line that begins here, or after the one that ends here.
    return other.startsWith('\n') ? behind : hunk;
  }
  if (at === from && held.startsWith('\n')) {
    return behind;
  }
  return at === to && held.endsWith('\n') ? hunk : { ...hunk, to: to + length, touched: true };
}

function mapDeletion(hunk: Hunk, start: number, end: number): Hunk {
  const { from, to, touched } = hunk;
  const moveBack = (place: number): number => place - Math.max(Math.min(place, end) - start, 0);
  return {
    ...hunk,
    from: moveBack(from),
    to: moveBack(to),
    touched: touched || (start < to && end > from && start < end)
  };
}

/** Whether it still begins where a line does or, at the end of the text, where one ends. */
function isWhole({ from, to, other }: Hunk, text: string): boolean {
  const end = text.slice(from, to).startsWith('\n') || (from === to && other.startsWith('\n'));
  return end ? from === text.length || text[from] === '\n' : from === 0 || text[from - 1] === '\n';
}

/** With this hunk's other text in its place. */
export function applyHunk({ text, hunks }: TextWithHunks, id: number): TextWithHunks {
  const index = hunks.findIndex(hunk => hunk.id === id);
  const hunk = hunks[index];
  if (hunk === undefined) {
    return { text, hunks };
  }
  const grown = hunk.other.length - (hunk.to - hunk.from);
  return {
    text: text.slice(0, hunk.from) + hunk.other + text.slice(hunk.to),
    hunks: hunks.flatMap((one, n) =>
      n < index ? [one] : n === index ? [] : [{ ...one, from: one.from + grown, to: one.to + grown }]
    )
  };
}

/** All but those that were written in. */
export function applyAllHunks(hunked: TextWithHunks): TextWithHunks {
  return hunked.hunks.reduceRight<TextWithHunks>(
    (now, { id, touched }) => (touched ? now : applyHunk(now, id)),
    hunked
  );
}

export function dropHunk({ text, hunks }: TextWithHunks, id: number): TextWithHunks {
  return { text, hunks: hunks.filter(hunk => hunk.id !== id) };
}

/** Of an answer that is still coming, line by line: that nothing more of it has come yet takes nothing away. */
export function findHunksSoFar(text: string, answer: string): readonly Hunk[] {
  const end = answer.lastIndexOf('\n');
  return (end < 0 ? [] : findHunks(text, answer.slice(0, end))).flatMap(hunk => {
    const { from, to, other } = hunk;
    if (to < text.length || from === to) {
      return [hunk];
    }
    return other === '' ? [] : [{ ...hunk, to: from, other: `${other}\n` }];
  });
}
