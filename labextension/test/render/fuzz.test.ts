/** Random Markdown: it is split without a loss, piece by piece as at once, and parsed in time. */

import { Marked } from 'marked';
import { expect, test, vi } from 'vitest';

import { removeMath, replaceMath } from '@jupyterlab/rendermime/lib/latex';

import { SegmentedText, splitSegments } from '../../src/render/markdown_segments';
import { replaceCellIds, toPlainMarkdown } from '../../src/render/format';
import { countInputs, Dice } from '../support/dice';

const PIECES = [
  ...['# ', '- ', '1. ', '> ', '| a | b |\n|---|---|\n', '```', '````', '~~~', '```python\n', '$', '$$', '\\(', '\\['],
  ...['*', '**', '_', '[', ']', '](', '(', ')', '![', '<', '>', '<b>', '</b>', '<!--', '-->', '<script>', '&lt;', '&#'],
  ...[
    '\n',
    '\n\n',
    '\r\n',
    ' ',
    '    ',
    '\t',
    '\\',
    '`',
    '``',
    '@@0@@',
    'word ',
    'x',
    'é',
    '😀',
    '\ud83d',
    '\u001b[31m'
  ],
  ...['[a]: b\n', 'https://example.org', 'javascript:alert(1)', '\\begin{a}', '\\end{a}', '---\n', '***\n', '{', '}']
];
/** How often a piece may be repeated, to find what takes much longer for a longer text. */
const REPEATED = [2, 10, 2_000];

function write(dice: Dice): string {
  let text = '';
  for (let count = 1 + dice.below(30); count > 0; count--) {
    const piece = dice.pick(PIECES);
    text += dice.roll() < 0.01 ? piece.repeat(dice.pick(REPEATED)) : piece;
  }
  return text;
}

/** The seconds of CPU that one text may take, as in `tests/fuzz`. */
const MAX_SECONDS = 10;
/** The milliseconds after which a test counts as hanging. */
const PATIENCE_MS = 3_600_000;

test(
  'random Markdown is split without a loss, and piece by piece as at once',
  () => {
    for (let seed = 0; seed < countInputs(10_000, 500_000); seed++) {
      const dice = new Dice(seed);
      const text = write(dice);
      const whole = splitSegments(text);
      expect(whole.segments.join(''), `seed ${String(seed)}`).toBe(text);
      let grown: SegmentedText | undefined;
      for (let end = 0; end < text.length;) {
        end = Math.min(text.length, end + 1 + dice.below(text.length));
        grown = splitSegments(text.slice(0, end), grown);
      }
      expect(grown, `seed ${String(seed)}`).toEqual(whole);
    }
  },
  PATIENCE_MS
);

test(
  'random Markdown is parsed in time',
  () => {
    // JupyterLab's search for formulas asks for the browser.
    vi.stubGlobal('navigator', {});
    const parser = new Marked({ gfm: true, async: false });
    for (let seed = 0; seed < countInputs(1_000, 100_000); seed++) {
      const text = write(new Dice(seed));
      const before = process.cpuUsage();
      const { text: prose, math } = removeMath(toPlainMarkdown(text));
      try {
        replaceMath(parser.parse(prose) as string, math);
      } catch (error) {
        // A thousand lists in each other are too deep for the parser. Both renderers then show the text as it is.
        expect(error, `seed ${String(seed)}`).toBeInstanceOf(RangeError);
      }
      replaceCellIds(text, { cell: 'x' }, () => undefined);
      expect(process.cpuUsage(before).user / 1e6, `seed ${String(seed)}`).toBeLessThan(MAX_SECONDS);
    }
  },
  PATIENCE_MS
);
