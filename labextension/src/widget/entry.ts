/**
 * The entry of the bundle with both widgets, from which anywidget gets them. It creates a panel or the card of a cell,
 * depending on the field `card` of the model.
 *
 * This module knows no session: see `index.tsx` and `card.tsx`.
 */

import { createCard } from './card';
import panel from './index';
import { Widget } from './anywidget_types';

/** anywidget calls this once for each model, and calls `initialize` first. */
export default (): Widget => {
  let widget: Widget | undefined;
  return {
    initialize: shown => {
      widget = shown.model.get('card') === true ? createCard() : panel();
      return widget.initialize(shown);
    },
    render: shown => (widget ?? panel()).render(shown)
  };
};
