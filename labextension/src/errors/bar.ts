/**
 * The bar below an error in a cell, with its buttons.
 *
 * Knows no command: `plugin.ts` decides where a bar is shown and what its buttons do.
 */

import { CodeCell } from '@jupyterlab/cells';
import { PanelLayout, Widget } from '@lumino/widgets';

import '../../style/help.css';

type Button = readonly [label: string, act: () => void];

/** Show the bar in a cell if it is wanted, otherwise remove it. */
export function showBar(cell: CodeCell, wanted: boolean, buttons: readonly Button[]): void {
  const layout = cell.layout as PanelLayout;
  const there = layout.widgets.find(widget => widget.hasClass('eca-Help'));
  if (!wanted) {
    there?.dispose();
  } else if (there === undefined) {
    layout.insertWidget(layout.widgets.length - 1, createBar(buttons));
  }
}

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
