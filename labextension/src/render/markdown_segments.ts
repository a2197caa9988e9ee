/**
 * Splits Markdown that a model is still writing into segments. It splits only where text that is added later cannot
 * change how the earlier text is rendered. Pure.
 *
 * This module knows no parser: `view/common/Markdown.tsx` renders each segment alone.
 */

/** Matches the line that begins or ends a block of code. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/**
 * Matches a line that may belong to the text before an empty line: lists, indented text, quotes, rows of tables,
 * definitions, HTML.
 */
const CONTINUATION = /^(\s|[-*+>|<[]|\d+[.)])/;

/**
 * Split the text into segments. Joined, they are the text. When more text is added, only the last segment changes.
 *
 * Each segment is rendered alone. So when a text grows, only its last paragraph must be rendered again. A segment
 * begins after an empty line, but not inside of a block of code or of a formula.
 */
export function splitSegments(text: string): readonly string[] {
  const segments: string[] = [];
  /** The offset at which the present segment begins. */
  let start = 0;
  /** The line of backticks or tildes that has begun the present block of code; empty outside of blocks. */
  let fence = '';
  /** Whether the line is in a formula between two `$$`. */
  let isFormula = false;
  /** Whether the line before was empty. */
  let isAfterBlank = false;
  for (let lineStart = 0; lineStart < text.length;) {
    const end = text.indexOf('\n', lineStart) + 1 || text.length;
    const line = text.slice(lineStart, end);
    const canBegin = isAfterBlank && fence === '' && !isFormula && lineStart > start;
    if (canBegin && line.trim() !== '' && !CONTINUATION.test(line)) {
      segments.push(text.slice(start, lineStart));
      start = lineStart;
    }
    const fenceMark = FENCE.exec(line)?.[1];
    if (fence !== '') {
      const isEnd = fenceMark?.startsWith(fence) === true && line.trim() === fenceMark;
      fence = isEnd ? '' : fence;
    } else if (fenceMark !== undefined) {
      fence = fenceMark;
    } else if ((line.match(/\$\$/g)?.length ?? 0) % 2 === 1) {
      isFormula = !isFormula;
    }
    isAfterBlank = line.trim() === '' && fence === '';
    lineStart = end;
  }
  return start < text.length ? [...segments, text.slice(start)] : segments;
}
