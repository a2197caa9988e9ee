/** The bar of a notebook with undecided changes: what it shows. */

import { nullTranslator } from '@jupyterlab/translation';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { ReviewBar, ReviewCounts } from '../../src/review/ReviewBar';
import { createElement } from '../../src/view/common/element';

const nothing = (): void => undefined;

function shown(counts: Partial<ReviewCounts>): string {
  const all = { madeCount: 0, proposedCount: 0, leftOutCount: 0, shownNumber: undefined, busy: false, ...counts };
  const view = (
    <ReviewBar counts={all} trans={nullTranslator.load('')} goTo={nothing} keepAll={nothing} undoAll={nothing} />
  );
  return renderToStaticMarkup(view);
}

test('the bar counts the changes, and names the one to which the user has gone', () => {
  expect(shown({ madeCount: 1 })).toContain('>1 change<');
  expect(shown({ madeCount: 3, proposedCount: 1 })).toContain('>3 changes · 1 proposed change<');
  expect(shown({ madeCount: 3, proposedCount: 1, shownNumber: 2 })).toContain('>Change 2 of 4<');
  expect(shown({ proposedCount: 1, leftOutCount: 2 })).toContain('>1 proposed change · 2 left out<');
});

test('proposed changes are approved one by one, where all of a call is shown', () => {
  expect(shown({ proposedCount: 2 })).not.toMatch(/Keep all|Undo all|Approve/);
  expect(shown({ madeCount: 1, proposedCount: 2 })).toMatch(/Keep all.*Undo all/);
});

test('while a turn is running, nothing can be decided for all', () => {
  expect(shown({ madeCount: 2, busy: true })).toMatch(/<button[^>]*disabled=""[^>]*>Keep all</);
  expect(shown({ madeCount: 2, busy: true })).toMatch(/<button[^>]*disabled=""[^>]*>Undo all</);
  expect(shown({ madeCount: 2 })).not.toContain('disabled');
});
