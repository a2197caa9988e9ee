/**
 * Parses what a user types into the form for a tool server: a command line, and lines of names and values. Pure.
 *
 * This module knows no form: the form is in `ServerForm.tsx`.
 */

/**
 * Split a line into words as a shell does. Only quotes, spaces and backslashes have a special meaning. For example,
 * `run 'my file' a\ b` gives the words `run`, `my file` and `a b`.
 */
export function splitWords(line: string): readonly string[] {
  // A word consists of plain characters, characters after a backslash, and texts in quotes.
  const matches = line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g);
  return [...matches].map(([word]) =>
    // Backslashes and quotes are removed. In double quotes a backslash counts only before a quote or a backslash.
    word.replace(
      /\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_, escaped?: string, double?: string, single?: string) =>
        escaped ?? double?.replace(/\\(["\\])/g, '$1') ?? single ?? ''
    )
  );
}

/** Join words to a line that `splitWords` splits into the same words. A word with special characters gets quotes. */
export function joinWords(words: readonly string[]): string {
  return words.map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

/** Parse lines of `NAME=value` or `Name: value`. Return undefined when a line has another form. */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  const matches = lines.map(line => /^\s*([\w-]+)\s*[=:]\s*(.*?)\s*$/.exec(line));
  const pairs = matches.map(match => [match?.[1] ?? '', match?.[2] ?? ''] as const);
  return matches.includes(null) ? undefined : Object.fromEntries(pairs);
}
