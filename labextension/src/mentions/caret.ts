/**
 * Makes a mention, such as `@cell:3`, behave as one letter: the caret is never inside of it, and Backspace and Delete
 * remove the whole mention. Pure.
 *
 * `mentions.ts` finds the mentions. `view/composer/PromptBox.tsx` moves the caret.
 */

import { Mention } from './mentions';

/** A selection in a text. For a caret without a selection, both ends are equal. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Return the selection `now` with both ends outside of mentions. `before` is the selection before the user moved it.
 *
 * If only one end has moved into a mention, this end moves further in the same direction, to the edge of the mention.
 * If both ends have moved, the selection gets wider, so that it covers whole mentions.
 */
export function keepOutside(mentions: readonly Mention[], before: TextRange, now: TextRange): TextRange {
  const isCaret = now.start === now.end;
  const hasMovedBoth = now.start !== before.start && now.end !== before.end;
  // Return where an end of the selection that has moved from `from` to `to` may be. `outward`: the edge of a mention on
  // the side to which this end makes the selection wider.
  const move = (from: number, to: number, outward: 'start' | 'end'): number => {
    const mention = mentions.find(({ start, end }) => start < to && to < end);
    if (mention === undefined) {
      return to;
    }
    // An end that has not moved may be inside of a mention, too, if the user has typed text that makes a mention around
    // it. Then the selection gets wider.
    const goesOutward = !isCaret && (hasMovedBoth || from === to);
    return mention[goesOutward ? outward : from < to ? 'end' : 'start'];
  };
  const start = move(before.start, now.start, 'start');
  return { start, end: isCaret ? start : Math.max(start, move(before.end, now.end, 'end')) };
}

/**
 * Return the range to delete when a key is pressed directly beside a mention. Otherwise return undefined, and the
 * browser deletes what the key always deletes. `wholeWord`: the key deletes a whole word, and the spaces between this
 * word and the caret.
 */
export function findDeletion(
  text: string,
  mentions: readonly Mention[],
  caret: number,
  key: 'Backspace' | 'Delete',
  wholeWord: boolean
): TextRange | undefined {
  if (key === 'Backspace') {
    const wordEdge = wholeWord ? text.slice(0, caret).trimEnd().length : caret;
    const mention = mentions.find(({ end }) => end === wordEdge);
    return mention && { start: mention.start, end: caret };
  }
  const wordEdge = wholeWord ? text.length - text.slice(caret).trimStart().length : caret;
  const mention = mentions.find(({ start }) => start === wordEdge);
  return mention && { start: caret, end: mention.end };
}
