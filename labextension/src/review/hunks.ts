/**
 * The differences between a text and another one, in hunks of whole lines, which are decided one by one while the text is
 * still edited. Pure.
 *
 * Applying a hunk puts the other text in its place; dropping it leaves the text as it is. Edits move the hunks along. A
 * hunk that was edited itself is `touched`: applying it would remove what the user wrote, so it is applied only when the
 * user decides about this hunk, never together with others. Knows no cell: `cell_diff.ts` keeps the hunks of one.
 */

import { diff } from '@codemirror/merge';

/** The characters `[from, to)` of a text, and what stands in their place in the other text. */
export interface Hunk {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  /** The other text. */
  readonly other: string;
  /** Whether the user has edited these lines since. */
  readonly touched: boolean;
}

export interface TextWithHunks {
  readonly text: string;
  readonly hunks: readonly Hunk[];
}

/** A change as Yjs reports it. */
export type Delta = readonly { readonly retain?: number; readonly insert?: unknown; readonly delete?: number }[];

/** For the diff, each different line becomes one character. From this code on, characters consist of two units. */
const MOST_LINES = 0xd800;

export function findHunks(text: string, other: string): readonly Hunk[] {
  const [ours, theirs] = [text.split('\n'), other.split('\n')];
  const [starts, others] = [findLineStarts(ours), findLineStarts(theirs)];
  const at = (places: readonly number[], line: number): number => places[line] ?? 0;
  return diffLines(ours, theirs).map(({ fromA, toA, fromB, toB }, id) => {
    let [from, to] = [at(starts, fromA), at(starts, toA)];
    let [first, end] = [at(others, fromB), at(others, toB)];
    if (to > text.length) {
      // The last line has no line break after it. When it is added or removed, the line break before it is, too.
      const shift = Number(from === to || first === end);
      [from, to, first, end] = [from - shift, to - 1, first - shift, end - 1];
    }
    return { id, from, to, other: other.slice(first, end), touched: false };
  });
}

/** Return where each line begins, and where one after the last would begin. */
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

/** Return the change that turns `before` into `after`. */
export function computeDelta(before: string, after: string): Delta {
  let at = 0;
  return diff(before, after).flatMap(({ fromA, toA, fromB, toB }) => {
    const retain = fromA - at;
    at = toA;
    return [{ retain }, { insert: after.slice(fromB, toB) }, { delete: toA - fromA }];
  });
}

/** Return text and hunks after a change. A hunk is removed when the user has typed the other text there themselves. */
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
    // Lines would be inserted here: before the line that begins here, or after the one that ends here.
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

/** Whether the hunk still begins where a line begins or, at the end of the text, where one ends. */
function isWhole({ from, to, other }: Hunk, text: string): boolean {
  const end = text.slice(from, to).startsWith('\n') || (from === to && other.startsWith('\n'));
  return end ? from === text.length || text[from] === '\n' : from === 0 || text[from - 1] === '\n';
}

/** Return the text with the other text of the hunk in its place. */
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

/** Apply all hunks but those that the user has edited. */
export function applyAllHunks(hunked: TextWithHunks): TextWithHunks {
  return hunked.hunks.reduceRight<TextWithHunks>(
    (now, { id, touched }) => (touched ? now : applyHunk(now, id)),
    hunked
  );
}

export function dropHunk({ text, hunks }: TextWithHunks, id: number): TextWithHunks {
  return { text, hunks: hunks.filter(hunk => hunk.id !== id) };
}

/** Return the hunks of an answer that is still incomplete. Lines that have not come yet do not count as removed. */
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
