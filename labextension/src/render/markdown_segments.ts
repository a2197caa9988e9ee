/**
 * Splits Markdown that a model is still writing into segments. It splits only where text that is added later cannot
 * change how the earlier text is rendered. It also splits a long block of code into parts of some lines. Pure.
 *
 * This module knows no parser: `view/common/Markdown.tsx` renders each segment alone.
 */

/** A text that is split into segments. Joined, the segments are the text. */
export interface SegmentedText {
  readonly text: string;
  readonly segments: readonly string[];
  /**
   * The offset in the last segment at which its last block of code begins, if nothing has ended that block yet;
   * undefined otherwise. While a long block grows, it is drawn apart from the text before it.
   */
  readonly openBlockOffset: number | undefined;
}

/** Matches the line that begins or ends a block of code. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/**
 * Matches a line that may belong to the text before an empty line: lists, indented text, quotes, rows of tables,
 * definitions, HTML.
 */
const CONTINUATION = /^(\s|[-*+>|<[]|\d+[.)])/;
/** Matches a line that is only a number so far. When the text grows, it may become an entry of a numbered list. */
const GROWING_NUMBER = /^\d+$/;

/**
 * Split the text into segments. When more text is added, only the last segment changes.
 *
 * Each segment is rendered alone. So when a text grows, only its last paragraph must be rendered again. A segment
 * begins after an empty line, but not inside of a block of code or of a formula.
 *
 * `before` is the result for the same text when it was shorter. Then only its last segment is read again, with what was
 * added. So a new piece of a long answer takes no more time than a piece of a short one. If `before` is the result for
 * another text, it is ignored.
 */
export function splitSegments(text: string, before?: SegmentedText): SegmentedText {
  // No segment begins in a block of code or in a formula, so reading can start again at the last one.
  const kept = before !== undefined && text.startsWith(before.text) ? before.segments.slice(0, -1) : [];
  const segments = [...kept];
  /** The offset at which the present segment begins. */
  let start = kept.reduce((length, segment) => length + segment.length, 0);
  /** The line of backticks or tildes that has begun the present block of code; empty outside of blocks. */
  let fence = '';
  /** The offset at which the present or the last block of code begins. */
  let blockStart = start;
  /** Whether the line is in a formula between two `$$`. */
  let isFormula = false;
  /** Whether the line before was empty. */
  let isAfterBlank = false;
  for (let lineStart = start; lineStart < text.length;) {
    const end = text.indexOf('\n', lineStart) + 1 || text.length;
    const line = text.slice(lineStart, end);
    const canBegin = isAfterBlank && fence === '' && !isFormula && lineStart > start;
    if (canBegin && line.trim() !== '' && !CONTINUATION.test(line) && !GROWING_NUMBER.test(line)) {
      segments.push(text.slice(start, lineStart));
      start = lineStart;
    }
    const fenceMark = FENCE.exec(line)?.[1];
    if (fence !== '') {
      const isEnd = fenceMark?.startsWith(fence) === true && line.trim() === fenceMark;
      fence = isEnd ? '' : fence;
    } else if (fenceMark !== undefined) {
      fence = fenceMark;
      blockStart = lineStart;
    } else if ((line.match(/\$\$/g)?.length ?? 0) % 2 === 1) {
      isFormula = !isFormula;
    }
    isAfterBlank = line.trim() === '' && fence === '';
    lineStart = end;
  }
  if (start < text.length) {
    segments.push(text.slice(start));
  }
  return { text, segments, openBlockOffset: fence === '' ? undefined : blockStart - start };
}

/** The number of lines in a part of `splitCodeIntoParts`. The page lays out only the parts that have changed. */
const PART_LINES = 100;

/**
 * Split a block of code after each hundred lines. Joined, the parts are the text. When text is added, only the last
 * part changes, or a new part begins.
 */
export function splitCodeIntoParts(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let lines = 0;
  for (let end = text.indexOf('\n') + 1; end > 0; end = text.indexOf('\n', end) + 1) {
    lines += 1;
    if (lines % PART_LINES === 0) {
      parts.push(text.slice(start, end));
      start = end;
    }
  }
  return start < text.length ? [...parts, text.slice(start)] : parts;
}
