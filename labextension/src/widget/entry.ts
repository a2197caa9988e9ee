/** What the kernel's widgets are made of: a panel, or the card of a cell. */

import { createCard } from './card';
import panel from './index';
import { Widget } from './model';

/** anywidget calls it once for each model, and begins with `initialize`. */
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
