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

/** What a bar shows. */
export interface ErrorBarContent {
  /** The sentence above the buttons. */
  readonly text?: string | undefined;
  /** The code that the user can copy, after the sentence. */
  readonly code?: string | undefined;
  readonly buttons: readonly Button[];
}

/** Show the bar in a cell. A bar without text and buttons is removed. A bar with the same texts is not changed. */
export function updateBar(cell: CodeCell, content: ErrorBarContent): void {
  const layout = cell.layout as PanelLayout;
  const existing = layout.widgets.find(widget => widget.hasClass('eca-Help'));
  const texts = [content.text ?? '', content.code ?? '', ...content.buttons.map(([label]) => label)].join('\n').trim();
  if (existing?.node.dataset.ecaTexts === texts) {
    return;
  }
  existing?.dispose();
  if (texts !== '') {
    const bar = createBar(content);
    bar.node.dataset.ecaTexts = texts;
    // The last widget of a cell is its footer, which stays the last.
    layout.insertWidget(layout.widgets.length - 1, bar);
  }
}

/** Move the focus to the first button of the bar, if the button that had the focus is gone. */
export function focusBar(cell: CodeCell): void {
  if (document.activeElement === document.body) {
    cell.node.querySelector<HTMLElement>('.eca-Help-button')?.focus();
  }
}

/** Create the widget of a bar. */
function createBar({ text, code, buttons }: ErrorBarContent): Widget {
  const widget = new Widget();
  widget.addClass('eca-Help');
  widget.node.setAttribute('role', 'group');
  if (text !== undefined) {
    const sentence = document.createElement('div');
    sentence.className = 'eca-Help-text';
    sentence.textContent = text;
    // A screen reader says the sentence when it appears.
    sentence.setAttribute('role', 'alert');
    widget.node.append(sentence);
    if (code !== undefined) {
      const line = document.createElement('code');
      line.textContent = code;
      sentence.append(' ', line);
    }
  }
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
