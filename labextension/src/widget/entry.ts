/**
 * The entry of the widget bundle: starts a panel or the card of a cell, whichever the model asks for.
 *
 * Knows no session: see `index.tsx` and `card.tsx`.
 */

import { createCard } from './card';
import panel from './index';
import { Widget } from './model';

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
