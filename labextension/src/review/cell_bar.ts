/**
 * Bars in a cell that say what is proposed or was changed there, with buttons.
 *
 * Knows no server: `controller.ts` fills them.
 */

import { Cell } from '@jupyterlab/cells';
import { PanelLayout, Widget } from '@lumino/widgets';

import { toExactText } from '../render/format';

import '../../style/review.css';

export type Tone = 'added' | 'removed' | 'changed';

export interface BarButton {
  readonly label: string;
  readonly act: () => void;
  readonly main?: boolean;
}

export interface BarContent {
  readonly tone: Tone;
  readonly words: string;
  /** The source of a cell that does not exist: one to be inserted, or one that was deleted. */
  readonly source?: string;
  readonly buttons: readonly BarButton[];
}

export class CellBar extends Widget {
  private shown = '';
  private buttons: readonly BarButton[] = [];

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
    const now = JSON.stringify([tone, words, source, buttons.map(({ label }) => label)]);
    if (now === this.shown) {
      return;
    }
    this.shown = now;
    const hadFocus = this.node.contains(document.activeElement);
    this.node.dataset.tone = tone;
    const head = document.createElement('div');
    head.className = 'eca-CellBar-head';
    const text = document.createElement('span');
    text.className = 'eca-CellBar-words';
    text.dir = 'auto';
    text.textContent = words;
    head.append(text, ...buttons.map((one, n) => this.createButton(one, n)));
    const pre = document.createElement('pre');
    pre.textContent = toExactText(source ?? '');
    pre.tabIndex = 0;
    this.node.replaceChildren(head, ...(source === undefined ? [] : [pre]));
    if (hadFocus) {
      this.node.querySelector('button')?.focus();
    }
  }

  private createButton({ label, main = false }: BarButton, n: number): HTMLElement {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = `eca-Hunk-button${main ? ' eca-mod-main' : ''}`;
    button.textContent = label;
    button.addEventListener('click', () => {
      this.buttons[n]?.act();
    });
    return button;
  }
}

/**
 * A bar `above` or `below` a cell is about another cell, which does not exist. A bar `within` a cell is about that
 * cell.
 */
export type BarPlace = 'above' | 'within' | 'below';

export function insertBar(cell: Cell, bar: Widget, stand: BarPlace): void {
  const layout = cell.layout as PanelLayout;
  const input = layout.widgets.findIndex(widget => widget.hasClass('jp-Cell-inputWrapper'));
  const places: Readonly<Record<BarPlace, number>> = {
    above: 1,
    within: Math.max(input, 1),
    below: layout.widgets.length - 1
  };
  layout.insertWidget(places[stand], bar);
}
