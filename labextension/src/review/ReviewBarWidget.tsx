/**
 * Puts the review bar into a widget of Lab. The review bar is the line at the bottom of a notebook that counts the
 * changes of the assistant.
 *
 * `ReviewBar.tsx` draws the bar, and `overview.ts` fills it.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { createElement } from '../view/common/element';
import { ReviewBar, ReviewBarActions, ReviewCounts } from './ReviewBar';

import '../../style/review_bar.css';

/** The widget. It is empty until `fill` is called. */
export class ReviewBarWidget extends ReactWidget {
  private counts: ReviewCounts | undefined;

  constructor(
    private readonly actions: ReviewBarActions,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('eca-ReviewBar');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', trans.__('Changes of the assistant in this notebook'));
  }

  /** Draw the bar with these counts. */
  fill(counts: ReviewCounts): void {
    this.counts = counts;
    this.update();
  }

  protected override render(): React.ReactElement | null {
    const { counts, trans, actions } = this;
    return counts === undefined ? null : <ReviewBar counts={counts} trans={trans} {...actions} />;
  }
}
