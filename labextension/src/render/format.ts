/**
 * Formats text and figures for a reader. Pure.
 *
 * Knows no element and no translation: Markdown is rendered in `markdown.ts`.
 */

const ESCAPES =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g;

/** Return the text without terminal escapes, control characters and marks that change the direction of writing. */
export function toPlainText(text: string): string {
  return text.replace(ESCAPES, '').replace(/\r\n?/g, '\n');
}

const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;

/**
 * Return the text with a name in the place of each character that a page would not draw. For what somebody approves:
 * nothing of it may be left out, as terminal escapes are by `toPlainText`.
 */
export function toExactText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(HIDDEN, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Format a count: 950, 1.2k, 34k, 1.2M. */
export function formatCount(n: number): string {
  if (n < 1000) {
    return String(n);
  }
  const [size, unit] = n < 1e6 ? [n / 1e3, 'k'] : [n / 1e6, 'M'];
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, '') : String(Math.round(size))}${unit}`;
}

/** Format a cost in dollars with at least two significant figures: most answers cost less than a cent. */
export function formatCost(text: string): string {
  const cost = Number(text);
  if (!Number.isFinite(cost)) {
    return '';
  }
  return `$${cost === 0 || cost >= 0.1 ? cost.toFixed(2) : cost.toFixed(Math.min(6, 1 - Math.floor(Math.log10(cost))))}`;
}

/** Format a duration: 40 ms, 2.1 s, 1 min 20 s. */
export function formatDuration(ms: number): string {
  if (ms < 1000) {
    return `${String(Math.round(ms))} ms`;
  }
  if (ms < 60_000) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  return `${String(Math.floor(ms / 60_000))} min ${String(Math.round((ms % 60_000) / 1000))} s`;
}

/** Return the last part of a path, by which a reader knows the file. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? path;
}

/** How many characters of an id are shown: enough to tell ids apart. */
const SHORT = 8;

/** Return the summary of a call with the ids of cells replaced by their numbers: a reader does not know the ids. */
export function replaceCellIds(
  summary: string,
  args: Readonly<Record<string, unknown>>,
  find: (id: string) => { readonly number: number } | undefined
): string {
  // nbformat allows no other characters in the id of a cell.
  const ids = [args.cell, args.cells].flat().filter(id => typeof id === 'string' && /^[\w-]+$/.test(id)) as string[];
  const describeId = (id: string): string =>
    find(id)?.number.toString() ?? (id.length > SHORT + 1 ? `${id.slice(0, SHORT)}…` : id);
  return ids.reduce(
    (text, id) => text.replace(new RegExp(`(?<![\\w-])${id}(?![\\w-])`), () => describeId(id)),
    summary
  );
}
