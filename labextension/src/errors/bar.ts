/**
 * Draws the bar below an error in a cell, with its buttons.
 *
 * This module knows no command: `error_bars.ts` decides where a bar is shown and what its buttons do.
 */

import { CodeCell } from '@jupyterlab/cells';
import { PanelLayout, Widget } from '@lumino/widgets';

import '../../style/help.css';

/** The label of a button, and the function that it calls. */
export type Button = readonly [label: string, act: () => void];

/** Show the bar in a cell with these buttons. Without buttons, remove it. A bar with the same labels is not changed. */
export function updateBar(cell: CodeCell, buttons: readonly Button[]): void {
  const layout = cell.layout as PanelLayout;
  const existing = layout.widgets.find(widget => widget.hasClass('eca-Help'));
  const labels = buttons.map(([label]) => label).join('\n');
  if (existing?.node.dataset.ecaLabels === labels) {
    return;
  }
  existing?.dispose();
  if (buttons.length > 0) {
    const bar = createBar(buttons);
    bar.node.dataset.ecaLabels = labels;
    // The last widget of a cell is its footer, which stays the last.
    layout.insertWidget(layout.widgets.length - 1, bar);
  }
}

/** Create the widget with the buttons. */
function createBar(buttons: readonly Button[]): Widget {
  const widget = new Widget();
  widget.addClass('eca-Help');
  widget.node.setAttribute('role', 'group');
  for (const [label, act] of buttons) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'eca-Help-button';
    button.textContent = label;
    button.addEventListener('click', act);
    widget.node.append(button);
  }
  return widget;
}
