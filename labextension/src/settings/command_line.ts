/**
 * Parses what a user types into the form for a server: a command line, and lines of names and values. Pure.
 *
 * Knows no form: that is `ServerForm.tsx`.
 */

/** The words of a line, as a shell has them where nothing is special but quotes, blanks and backslashes. */
export function splitWords(line: string): readonly string[] {
  const found = line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g);
  return [...found].map(([word]) =>
    word.replace(
      /\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, one?: string, quoted?: string, raw?: string) => one ?? quoted?.replace(/\\(["\\])/g, '$1') ?? raw ?? ''
    )
  );
}

/** `NAME=value` or `Name: value`, one a line; undefined for a line that is neither. */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const found = lines.map(line => /^\s*([\w-]+)\s*[=:]\s*(.*?)\s*$/.exec(line));
  const all = found.map(match => [match?.[1] ?? '', match?.[2] ?? ''] as const);
  return found.includes(null) ? undefined : Object.fromEntries(all);
}
