/**
 * Formats texts and numbers for a reader. Pure.
 *
 * This module draws nothing and translates nothing. `markdown.ts` renders Markdown.
 */

/**
 * Matches escape sequences of a terminal (of the forms `ESC [ … letter` and `ESC ] … BEL`, and two-letter ones),
 * control characters except the tab and line breaks, and characters that change the writing direction.
 */
const ESCAPES =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g;

/** Return the text without terminal escapes, control characters and characters that change the writing direction. */
export function toPlainText(text: string): string {
  return text.replace(ESCAPES, '').replace(/\r\n?/g, '\n');
}

/** Matches a long row of backticks or tildes. No real fence has so many. */
const LONG_FENCE = /(`{64})`+|(~{64})~+/g;

/**
 * Return Markdown as `toPlainText` does, with at most 64 backticks or tildes in a row: JupyterLab's search for formulas
 * stops the page for seconds at thousands of them.
 */
export function toPlainMarkdown(text: string): string {
  return toPlainText(text).replace(LONG_FENCE, '$1$2');
}

/**
 * Matches characters that are not drawn, or that look like a space, a slash or a semicolon. The ordinary space, the tab
 * and the line break are not matched.
 */
const HIDDEN =
  /(?![\t\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\u2044\u2215\u29f8\uff0f\u037e]/u;
/** Matches letters of scripts that need joiners: Arabic, Syriac, the scripts of India and its neighbours, Mongolian. */
const JOINED = /[\u0620-\u06dc\u06de-\u070e\u0710-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af]/;
/** Matches emojis and other picture characters. */
const PICTOGRAPH = /[\xa9\xae\u203c-\u3299\u{1f000}-\u{1faff}]/u;
/**
 * Finds the hidden characters (the group `hidden`). The other alternatives match two kinds of invisible characters that
 * a script or an emoji needs: joiners (U+200C, U+200D) and the selector of coloured emojis (U+FE0F). They are matched
 * without the group, so that they are kept.
 */
const HIDDEN_OR_NEEDED = new RegExp(
  `(?<=${JOINED.source})[\\u200c\\u200d](?=${JOINED.source})` +
    `|(?<=${PICTOGRAPH.source}\\ufe0f?)\\u200d(?=${PICTOGRAPH.source})` +
    `|(?<=${PICTOGRAPH.source})\\ufe0f|\\ufe0f(?=\\u20e3)` +
    `|(?<hidden>${HIDDEN.source})`,
  'gu'
);
/** Matches letters that may look like Latin letters: Cyrillic, Armenian, Cherokee, and some Greek letters. */
const LOOKALIKE =
  /[\u0400-\u052f\u0531-\u0587\u13a0-\u13fd\uab70-\uabbf\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf]/g;

/**
 * Return the text with its code point, such as `\u200b`, in place of each character that a page does not draw or that
 * looks like another character. Use this for texts that a user approves, because nothing of them may be hidden. For
 * other texts, use `toPlainText`. `jupyter_eca/engine/text/exact_text.py` does the same for terminals.
 */
export function toExactText(text: string): string {
  return (
    text
      .replace(/\r\n/g, '\n')
      // The last argument of the function has the named groups.
      .replace(HIDDEN_OR_NEEDED, (found, ...rest) =>
        (rest.at(-1) as { hidden?: string }).hidden === undefined ? found : formatCodePoint(found)
      )
      // A foreign letter is shown as a code point only in a word that also has Latin letters.
      .replace(/[\p{L}\p{N}_]+/gu, word => (/[A-Za-z]/.test(word) ? word.replace(LOOKALIKE, formatCodePoint) : word))
  );
}

/** Return a character in the form `\u200b` or, with more than four digits, `\u{1f600}`. */
function formatCodePoint(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

/** Matches four or more empty lines: so many could hide the end of a command below the visible part. */
const EMPTY_LINES = /(?<=\n)((?:[ \t]*\n){4,})/;

/**
 * Split a text at its long runs of empty lines. Each run is returned as the number of its lines. The runs have the odd
 * indexes, because `split` also returns what the group in `EMPTY_LINES` has matched.
 */
export function splitAtEmptyLines(text: string): readonly (string | number)[] {
  return text.split(EMPTY_LINES).map((part, index) => (index % 2 === 1 ? part.split('\n').length - 1 : part));
}

/** Format a count in few characters, rounded: 950, 1.2k, 34k, 1.2M. */
export function formatCount(count: number): string {
  if (count < 1000) {
    return String(count);
  }
  const [size, unit] = count < 1e6 ? [count / 1e3, 'k'] : [count / 1e6, 'M'];
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, '') : String(Math.round(size))}${unit}`;
}

/** Format a whole number with all of its digits, in groups of three: 1,234,567. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en');
}

/**
 * Format a cost in dollars with two digits that are not leading zeros, because most answers cost less than a cent:
 * 1.20 USD, 0.0034 USD. A price is never shown with more than six decimal places: 0.000003 USD. `text` is a decimal
 * number. The result is empty if it is not one.
 *
 * `format_dollars` in `jupyter_eca/engine/model/budget.py` does the same; both are tested with the same amounts.
 */
export function formatCost(text: string): string {
  const cost = Number(text);
  if (!Number.isFinite(cost)) {
    return '';
  }
  // The logarithm counts the zeros after the point: it is -2.5 for 0.0034, which needs four decimal places.
  const digits = cost === 0 || cost >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(cost)));
  return `${cost.toFixed(digits)} USD`;
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

/** Return the last part of a path, which is the name of the file. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? path;
}

/** The number of characters of a long id that are shown. They are enough to distinguish ids. */
const SHORT_ID_LENGTH = 8;

/**
 * Return the summary of a tool call with the ids of cells replaced by their numbers, because a reader does not know the
 * ids. `args` are the arguments of the call, in which the ids are. `findCell` returns the number of the cell with an
 * id, undefined for an unknown id. Then the id is shortened.
 */
export function replaceCellIds(
  summary: string,
  args: Readonly<Record<string, unknown>>,
  findCell: (id: string) => { readonly number: number } | undefined
): string {
  // nbformat allows no other characters in the id of a cell.
  const ids = [args.cell, args.cells].flat().filter(id => typeof id === 'string' && /^[\w-]+$/.test(id)) as string[];
  // An id with one character more stays whole, because the sign `…` would take the place of that character.
  const describeId = (id: string): string =>
    findCell(id)?.number.toString() ?? (id.length > SHORT_ID_LENGTH + 1 ? `${id.slice(0, SHORT_ID_LENGTH)}…` : id);
  return ids.reduce(
    (text, id) => text.replace(new RegExp(`(?<![\\w-])${id}(?![\\w-])`), () => describeId(id)),
    summary
  );
}
