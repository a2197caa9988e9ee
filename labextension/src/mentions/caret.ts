/**
 * Lets the caret treat a mention as one letter: it never stands inside, and Backspace and Delete remove it whole. Pure.
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
    const goesOutward = !isCaret && (hasMovedBoth || from === to);
    return mention[goesOutward ? outward : from < to ? 'end' : 'start'];
  };
  const start = move(before.start, now.start, 'start');
  return { start, end: isCaret ? start : Math.max(start, move(before.end, now.end, 'end')) };
}

/**
 * Return what a key deletes, if it deletes a mention, and undefined otherwise. `wholeWord`: the key deletes to the end
 * of a word, together with the spaces before it.
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
