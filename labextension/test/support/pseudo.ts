/**
 * A language in which each text stands in brackets. What is shown without them did not go through the translator.
 *
 * The data of a test that uses it has no words, so every word outside of the brackets is ours.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { untranslated } from '../../src/widget/untranslated';

type Translate = (...values: never[]) => string;

/** Each text is in brackets; the values within it are filled in as in English. */
export const pseudo = Object.fromEntries(
  Object.entries(untranslated as unknown as Readonly<Record<string, Translate>>).map(([name, translate]) => [
    name,
    (...values: never[]) => `⟦${translate(...values)}⟧`
  ])
) as unknown as TranslationBundle;

/** Units and the names of keys are the same in all languages, and `x` is a part of a number of pixels. */
const UNITS = /\b(?:ms|min|MB|kB|KiB)\b/g;

/** Remove everything in brackets, also where one text is a part of another. */
function removeTranslated(text: string): string {
  const shorter = text.replace(/⟦[^⟦⟧]*⟧/g, '');
  return shorter === text ? text : removeTranslated(shorter);
}

/** List the words of the HTML that a reader or a screen reader meets, and that are in no brackets. */
export function findUntranslated(html: string): readonly string[] {
  // Code and keys are not translated.
  const own = html.replace(/<(code|kbd|pre)\b[^>]*>.*?<\/\1>/gs, '');
  const texts = [
    ...[...own.matchAll(/ (?:title|aria-label|aria-description|placeholder|alt|label)="([^"]*)"/g)].map(
      ([, value]) => value ?? ''
    ),
    ...own.split(/<[^>]*>/)
  ];
  return texts.filter(text => /\p{L}{2,}/u.test(removeTranslated(text.replace(/&\w+;/g, '')).replace(UNITS, '')));
}
