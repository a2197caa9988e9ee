/**
 * Splits Markdown that is still being written where later text cannot change how earlier text looks. Pure.
 *
 * Knows no parser: `view/common/Markdown.tsx` renders each segment alone.
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** What may continue after an empty line: lists, indented text, quotes, rows of tables, definitions, HTML. */
const GOES_ON = /^(\s|[-*+>|<[]|\d+[.)])/;

/**
 * Split the text into segments, which together are the text. All but the last stay the same when more text comes.
 *
 * Each segment is rendered alone, so that growing text of any length costs only what its last paragraph costs.
 */
export function splitSegments(text: string): readonly string[] {
  const segments: string[] = [];
  let start = 0;
  let fence = '';
  let maths = false;
  let blank = false;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n', at) + 1 || text.length;
    const line = text.slice(at, end);
    if (blank && fence === '' && !maths && at > start && line.trim() !== '' && !GOES_ON.test(line)) {
      segments.push(text.slice(start, at));
      start = at;
    }
    const mark = FENCE.exec(line)?.[1];
    if (fence !== '') {
      fence = mark?.startsWith(fence) === true && line.trim() === mark ? '' : fence;
    } else if (mark !== undefined) {
      fence = mark;
    } else if ((line.match(/\$\$/g)?.length ?? 0) % 2 === 1) {
      maths = !maths;
    }
    blank = line.trim() === '' && fence === '';
    at = end;
  }
  return start < text.length ? [...segments, text.slice(start)] : segments;
}
