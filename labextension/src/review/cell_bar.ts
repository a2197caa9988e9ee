/**
 * The bar in a cell that describes a proposed or finished change of the assistant, with buttons to decide about it.
 *
 * This module knows no server and no change: `controller.ts` fills the bars.
 */

import { Cell } from '@jupyterlab/cells';
import { PanelLayout, Widget } from '@lumino/widgets';

import { toExactText } from '../render/format';

import '../../style/review.css';

/** Decides the colour of the bar. */
export type Tone = 'added' | 'removed' | 'changed';

export interface BarButton {
  readonly label: string;
  /** Called when the button is pressed. */
  readonly act: () => void;
  /** Whether this is the main button, which is highlighted. */
  readonly main?: boolean;
}

export interface BarContent {
  readonly tone: Tone;
  /** The sentence that describes the change. */
  readonly words: string;
  /** The source of a cell that is not in the notebook, because it is to be inserted or was deleted. */
  readonly source?: string;
  readonly buttons: readonly BarButton[];
}

export class CellBar extends Widget {
  /** The content that is drawn, as JSON. */
  private drawn = '';
  private buttons: readonly BarButton[] = [];

  /** `label` is the name of the bar for a screen reader. */
  constructor(label: string) {
    super();
    this.addClass('eca-CellBar');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', label);
    // Otherwise Lab treats keys and clicks in a cell as its own.
    this.node.dataset.lmSuppressShortcuts = 'true';
  }

  /** Fill the bar. It is drawn again only when its content has changed, so that the focus stays in it. */
  fill({ tone, words, source, buttons }: BarContent): void {
    this.buttons = buttons;
    const content = JSON.stringify([tone, words, source, buttons.map(({ label }) => label)]);
    if (content === this.drawn) {
      return;
    }
    this.drawn = content;
    const hadFocus = this.node.contains(document.activeElement);
    this.node.dataset.tone = tone;
    const head = document.createElement('div');
    head.className = 'eca-CellBar-head';
    const text = document.createElement('span');
    text.className = 'eca-CellBar-words';
    text.dir = 'auto';
    text.textContent = words;
    head.append(text, ...buttons.map((button, index) => this.createButton(button, index)));
    const pre = document.createElement('pre');
    pre.textContent = toExactText(source ?? '');
    pre.tabIndex = 0;
    this.node.replaceChildren(head, ...(source === undefined ? [] : [pre]));
    if (hadFocus) {
      this.node.querySelector('button')?.focus();
    }
  }

  private createButton({ label, main = false }: BarButton, index: number): HTMLElement {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = `eca-Hunk-button${main ? ' eca-mod-main' : ''}`;
    button.textContent = label;
    button.addEventListener('click', () => {
      this.buttons[index]?.act();
    });
    return button;
  }
}

/**
 * Where a bar stands in a cell. `within`: it is about this cell. `above` or `below`: it is about a cell that is not in
 * the notebook, and would stand or stood above or below this cell.
 */
export type BarPlace = 'above' | 'within' | 'below';

/** Insert a bar into the layout of a cell. */
export function insertBar(cell: Cell, bar: Widget, place: BarPlace): void {
  const layout = cell.layout as PanelLayout;
  const input = layout.widgets.findIndex(widget => widget.hasClass('jp-Cell-inputWrapper'));
  const indexes: Readonly<Record<BarPlace, number>> = {
    above: 1,
    within: Math.max(input, 1),
    below: layout.widgets.length - 1
  };
  layout.insertWidget(indexes[place], bar);
}
