/**
 * Makes a mention behave as one letter: the caret never stands inside of it, and Backspace and Delete remove the whole
 * mention. Pure.
 *
 * `mentions.ts` finds the mentions. `view/composer/PromptBox.tsx` moves the caret.
 */

import { Mention } from './mentions';

/** A selection in a text. Both ends are equal for a caret. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Return the selection with its ends outside of mentions. An end that has moved goes on to the far side of the mention;
 * if both have moved, the selection gets wider.
 */
export function keepOutside(mentions: readonly Mention[], before: TextRange, now: TextRange): TextRange {
  const isCaret = now.start === now.end;
  const hasMovedBoth = now.start !== before.start && now.end !== before.end;
  const move = (from: number, to: number, outward: 'start' | 'end'): number => {
    const mention = mentions.find(({ start, end }) => start < to && to < end);
    if (mention === undefined) {
      return to;
    }
    // An end also goes outward if it has not moved but is inside, for example when a mention was typed around it.
    const goesOutward = !isCaret && (hasMovedBoth || from === to);
    return mention[goesOutward ? outward : from < to ? 'end' : 'start'];
  };
  const start = move(before.start, now.start, 'start');
  return { start, end: isCaret ? start : Math.max(start, move(before.end, now.end, 'end')) };
}

/**
 * Return the range that a key deletes, if it deletes a mention. Otherwise return undefined: then the browser deletes what
 * it always does. `wholeWord`: the key deletes a whole word, and the spaces between that word and the caret.
 */
export function findDeletion(
  text: string,
  mentions: readonly Mention[],
  caret: number,
  key: 'Backspace' | 'Delete',
  wholeWord: boolean
): TextRange | undefined {
  if (key === 'Backspace') {
    const at = wholeWord ? text.slice(0, caret).trimEnd().length : caret;
    const mention = mentions.find(({ end }) => end === at);
    return mention && { start: mention.start, end: caret };
  }
  const at = wholeWord ? text.length - text.slice(caret).trimStart().length : caret;
  const mention = mentions.find(({ start }) => start === at);
  return mention && { start: caret, end: mention.end };
}
