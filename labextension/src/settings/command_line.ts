/**
 * Parses what a user types into the form for a tool server: a command line, and lines of names and values. Pure.
 *
 * This module knows no form: the form is in `ServerForm.tsx`.
 */

/** Split a line into words as a shell does. Only quotes, spaces and backslashes have a special meaning. */
export function splitWords(line: string): readonly string[] {
  const found = line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g);
  return [...found].map(([word]) =>
    word.replace(
      /\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, escaped?: string, double?: string, single?: string) =>
        escaped ?? double?.replace(/\\(["\\])/g, '$1') ?? single ?? ''
    )
  );
}

/** Join words to a line that `splitWords` splits into the same words. */
export function joinWords(words: readonly string[]): string {
  return words.map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

/** Parse lines of `NAME=value` or `Name: value`. Return undefined when a line is neither. */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const found = lines.map(line => /^\s*([\w-]+)\s*[=:]\s*(.*?)\s*$/.exec(line));
  const all = found.map(match => [match?.[1] ?? '', match?.[2] ?? ''] as const);
  return found.includes(null) ? undefined : Object.fromEntries(all);
}
