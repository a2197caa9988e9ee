/**
 * The entry module of the bundle that anywidget loads. It chooses between two widgets. If the field `card` of the
 * widget model is true, it creates the card in the output of a cell, which shows the tool calls and questions that wait
 * for the user. Otherwise it creates a panel.
 *
 * This module knows no session: see `index.tsx` and `card.tsx`.
 */

import { createCard } from './card';
import createPanel from './index';
import { Widget } from './anywidget_types';

/**
 * anywidget requires this default export. It calls the function once for each widget model, and then first calls
 * `initialize`.
 */
export default (): Widget => {
  let widget: Widget | undefined;
  return {
    initialize: props => {
      widget = props.model.get('card') === true ? createCard() : createPanel();
      return widget.initialize(props);
    },
    // `initialize` was called first, so there is a widget. Only the type of `widget` allows that there is none.
    render: props => (widget ?? createPanel()).render(props)
  };
};
