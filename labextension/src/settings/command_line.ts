/**
 * Parses what a user types into the form for a server: a command line, and lines of names and values. Pure.
 *
 * Knows no form: that is `ServerForm.tsx`.
 */

/** Split a line into words as a shell does, where only quotes, blanks and backslashes have a meaning. */
export function splitWords(line: string): readonly string[] {
  const found = line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g);
  return [...found].map(([word]) =>
    word.replace(
      /\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, one?: string, quoted?: string, raw?: string) => one ?? quoted?.replace(/\\(["\\])/g, '$1') ?? raw ?? ''
    )
  );
}

/** Parse lines of `NAME=value` or `Name: value`; undefined when a line is neither. */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const found = lines.map(line => /^\s*([\w-]+)\s*[=:]\s*(.*?)\s*$/.exec(line));
  const all = found.map(match => [match?.[1] ?? '', match?.[2] ?? ''] as const);
  return found.includes(null) ? undefined : Object.fromEntries(all);
}
