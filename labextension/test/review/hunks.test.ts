/** Properties of hunks, over many texts, decisions and edits. */

import { expect, test } from 'vitest';

import {
  applyAllHunks,
  applyHunk,
  findHunksSoFar,
  computeDelta,
  dropHunk,
  TextWithHunks,
  findHunks,
  mapHunks
} from '../../src/review/hunks';

/** The same numbers each time, from 0 to below `most`. */
function dice(seed: number): (most: number) => number {
  let state = seed;
  return most => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

const LINES = ['', 'a', 'b', 'x = 1', '# 😀', '  b'];

function text(roll: (most: number) => number): string {
  return Array.from({ length: roll(7) }, () => LINES[roll(LINES.length)]).join('\n');
}

/** Two texts that often have much in common. */
function two(seed: number): readonly [string, string] {
  const roll = dice(seed);
  const one = text(roll);
  const lines = one.split('\n');
  for (let n = roll(4); n > 0; n--) {
    lines.splice(roll(lines.length + 1), roll(2), ...(roll(2) === 0 ? [] : [LINES[roll(LINES.length)] ?? '']));
  }
  return [one, roll(3) === 0 ? text(roll) : lines.join('\n')];
}

const SEEDS = Array.from({ length: 400 }, (_, seed) => seed);

function hunked(text: string, other: string): TextWithHunks {
  return { text, hunks: findHunks(text, other) };
}

test('applying all hunks in any order gives the other text, and no hunk applies another one', () => {
  for (const seed of SEEDS) {
    const [one, other] = two(seed);
    const all = hunked(one, other);
    expect(applyAllHunks(all)).toEqual({ text: other, hunks: [] });
    const roll = dice(seed);
    let now = all;
    while (now.hunks.length > 0) {
      const { id } = now.hunks[roll(now.hunks.length)] ?? { id: -1 };
      now = applyHunk(now, id);
    }
    expect(now.text).toBe(other);
  }
});

test('the text of a dropped hunk stays the same, whatever is decided before and after it', () => {
  for (const seed of SEEDS) {
    const [one, other] = two(seed);
    const roll = dice(seed);
    const all = hunked(one, other);
    const wanted = all.hunks.filter(() => roll(2) === 0);
    let text = one;
    for (const { from, to, otherText } of [...wanted].reverse()) {
      text = text.slice(0, from) + otherText + text.slice(to);
    }
    let now = all;
    while (now.hunks.length > 0) {
      const { id } = now.hunks[roll(now.hunks.length)] ?? { id: -1 };
      now = wanted.some(one => one.id === id) ? applyHunk(now, id) : dropHunk(now, id);
    }
    expect(now.text).toBe(text);
  }
});

test('text that the user writes beside hunks stays, whatever is applied afterwards', () => {
  for (const seed of SEEDS) {
    const [one, other] = two(seed);
    const roll = dice(seed);
    const at = roll(one.length + 1);
    const typed = one.slice(0, at) + 'TYPED' + one.slice(at);
    const after = mapHunks(hunked(one, other), computeDelta(one, typed));
    expect(after.text).toBe(typed);
    const all = applyAllHunks(after);
    expect(all.text).toContain('TYPED');
    expect(all.hunks.every(({ isEdited }) => isEdited)).toBe(true);
    if (all.hunks.length === 0) {
      expect(all.text.replace('TYPED', '')).toBe(other);
    }
  }
});

test('text that the user deletes stays deleted, and no hunk leaves the text', () => {
  for (const seed of SEEDS) {
    const [one, other] = two(seed);
    const roll = dice(seed);
    const from = roll(one.length + 1);
    const gone = roll(one.length - from + 1);
    const after = mapHunks(hunked(one, other), [{ retain: from }, { delete: gone }]);
    expect(after.text).toBe(one.slice(0, from) + one.slice(from + gone));
    let last = 0;
    for (const hunk of after.hunks) {
      expect(hunk.from).toBeGreaterThanOrEqual(last);
      expect(hunk.to).toBeGreaterThanOrEqual(hunk.from);
      expect(hunk.to).toBeLessThanOrEqual(after.text.length);
      last = hunk.to;
    }
  }
});

test('distant lines become separate hunks, and neighbouring lines become one', () => {
  expect(findHunks('a\nb\nc\nd', 'A\nb\nC\nD').map(({ from, to, otherText }) => [from, to, otherText])).toEqual([
    [0, 2, 'A\n'],
    [4, 7, 'C\nD']
  ]);
  expect(findHunks('a', 'a\nb')).toMatchObject([{ from: 1, to: 1, otherText: '\nb' }]);
  expect(findHunks('a\nb', 'a')).toMatchObject([{ from: 1, to: 3, otherText: '' }]);
  expect(findHunks('', 'a\nb')).toMatchObject([{ from: 0, to: 0, otherText: 'a\nb' }]);
  expect(findHunks('a', 'a')).toEqual([]);
});

test('applying all hunks skips one that the user edited; it disappears when the user typed the same change', () => {
  const all = hunked('x = 1\ny = 2', 'x = 5\ny = 6');
  const typed = mapHunks(all, [{ retain: 5 }, { insert: '0' }]);
  expect(typed.hunks).toMatchObject([{ isEdited: true, from: 0, to: 12 }]);
  expect(applyAllHunks(typed)).toEqual(typed);
  expect(applyHunk(typed, 0)).toEqual({ text: 'x = 5\ny = 6', hunks: [] });
  expect(mapHunks(all, computeDelta('x = 1\ny = 2', 'x = 5\ny = 6')).hunks).toEqual([]);
});

test('applying all hunks skips one that no longer consists of whole lines', () => {
  const joined = mapHunks(hunked('a\nb', 'a\nn\nb'), [{ retain: 1 }, { delete: 1 }]);
  expect(joined).toMatchObject({ text: 'ab', hunks: [{ from: 1, to: 1, otherText: 'n\n', isEdited: true }] });
});

test('of an incomplete answer only the lines that have come are shown', () => {
  const text = 'a\nb\nc\nd';
  expect(findHunksSoFar(text, 'a')).toEqual([]);
  expect(findHunksSoFar(text, 'a\nb\n')).toEqual([]);
  expect(findHunksSoFar(text, 'a\nB\nc')).toMatchObject([{ from: 2, to: 2, otherText: 'B\n' }]);
  expect(findHunksSoFar(text, 'a\nB\nc\n')).toMatchObject([{ from: 2, to: 4, otherText: 'B\n' }]);
});

test('texts with too many different lines have one hunk, which is the whole text', () => {
  const numbers = (offset: number): string => Array.from({ length: 40_000 }, (_, line) => line + offset).join('\n');
  const [before, after] = [numbers(0), numbers(40_000)];
  const applied = applyAllHunks({ text: before, hunks: findHunks(before, after) });
  expect(applied.text === after).toBe(true);
  expect(applied.hunks).toEqual([]);
  expect(findHunks(before, before)).toEqual([]);
});
