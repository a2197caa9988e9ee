/**
 * Formats text and figures for a reader. Pure.
 *
 * Knows no element and no translation: Markdown is rendered in `markdown.ts`.
 */

const ESCAPES =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g;

/** Without terminal escapes, control characters and marks that turn the direction of what follows. */
export function toPlainText(text: string): string {
  return text.replace(ESCAPES, '').replace(/\r\n?/g, '\n');
}

/** 950, 1.2k, 34k, 1.2M. */
export function formatCount(n: number): string {
  if (n < 1000) {
    return String(n);
  }
  const [size, unit] = n < 1e6 ? [n / 1e3, 'k'] : [n / 1e6, 'M'];
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, '') : String(Math.round(size))}${unit}`;
}

/** Two significant figures at least: most answers cost less than a cent. */
export function formatCost(text: string): string {
  const cost = Number(text);
  if (!Number.isFinite(cost)) {
    return '';
  }
  return `$${cost === 0 || cost >= 0.1 ? cost.toFixed(2) : cost.toFixed(Math.min(6, 1 - Math.floor(Math.log10(cost))))}`;
}

/** 40 ms, 2.1 s, 1 min 20 s. */
export function formatDuration(ms: number): string {
  if (ms < 1000) {
    return `${String(Math.round(ms))} ms`;
  }
  if (ms < 60_000) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  return `${String(Math.floor(ms / 60_000))} min ${String(Math.round((ms % 60_000) / 1000))} s`;
}

/** The last part of a path: what a reader knows a file by. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? path;
}

/** Ids that a reader can still tell apart. */
const SHORT = 8;

/** What a call does, with the numbers of its cells where their ids stand: those say nothing to a reader. */
export function replaceCellIds(
  summary: string,
  args: Readonly<Record<string, unknown>>,
  find: (id: string) => { readonly number: number } | undefined
): string {
  // Of a notebook: nbformat allows no other letters.
  const ids = [args.cell, args.cells].flat().filter(id => typeof id === 'string' && /^[\w-]+$/.test(id)) as string[];
  const describeId = (id: string): string =>
    find(id)?.number.toString() ?? (id.length > SHORT + 1 ? `${id.slice(0, SHORT)}…` : id);
  return ids.reduce(
    (text, id) => text.replace(new RegExp(`(?<![\\w-])${id}(?![\\w-])`), () => describeId(id)),
    summary
  );
}
