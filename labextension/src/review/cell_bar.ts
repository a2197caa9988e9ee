/**
 * Draws the bar in a cell that describes a proposed or finished change of the assistant, with buttons to decide about
 * it.
 *
 * This module knows no server and no change: `controller.ts` fills the bars.
 */

import { Cell } from '@jupyterlab/cells';
import { PanelLayout, Widget } from '@lumino/widgets';

import { ignoreRepeatedClicks } from '../render/repeated_clicks';
import { toExactText } from '../render/format';

import '../../style/review.css';

/** The kind of the change, which decides the colour of the bar. */
export type Tone = 'added' | 'removed' | 'changed';

/** A button of a bar. */
export interface BarButton {
  readonly label: string;
  /** A sentence on what the button does, where the label alone could be taken for something else. */
  readonly title?: string;
  /** Called when the button is pressed. */
  readonly act: () => void;
  /** Whether this is the main button, which is highlighted. */
  readonly isMain?: boolean;
}

/** The content of a bar. */
export interface BarContent {
  readonly tone: Tone;
  /** A sentence that describes the change. */
  readonly description: string;
  /** The source of a cell that is not in the notebook, because it is to be inserted or was deleted. */
  readonly source?: string;
  readonly buttons: readonly BarButton[];
}

/** The bar of one change. It is empty until `fill` is called. */
export class CellBar extends Widget {
  /** The line with the description and the buttons. */
  private readonly head = document.createElement('div');
  private readonly descriptionNode = document.createElement('span');
  private readonly sourceNode = document.createElement('pre');
  /** The buttons with which the bar was last filled. */
  private buttons: readonly BarButton[] = [];

  /** `label` is the name of the bar for a screen reader. */
  constructor(label: string) {
    super();
    this.addClass('eca-CellBar');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', label);
    // With this, the review bar at the bottom of the notebook can give the focus to this bar.
    this.node.tabIndex = -1;
    // Otherwise Lab treats keys and clicks in a cell as its own.
    this.node.dataset.lmSuppressShortcuts = 'true';
    this.head.className = 'eca-CellBar-head';
    this.descriptionNode.className = 'eca-CellBar-words';
    this.descriptionNode.dir = 'auto';
    this.sourceNode.tabIndex = 0;
    this.node.append(this.head);
    ignoreRepeatedClicks(this.node);
  }

  /**
   * Fill the bar. Buttons with the same labels as before stay, and only call other functions. So the focus stays on a
   * button, and a click is not lost when the words change between the press and the release of the mouse.
   */
  fill({ tone, description, source, buttons }: BarContent): void {
    const isSame = String(buttons.map(({ label }) => label)) === String(this.buttons.map(({ label }) => label));
    this.buttons = buttons;
    this.node.dataset.tone = tone;
    setText(this.descriptionNode, description);
    // The user decides about the source, so characters in it that a page does not draw are shown too.
    setText(this.sourceNode, toExactText(source ?? ''));
    if (source === undefined) {
      this.sourceNode.remove();
    } else if (!this.node.contains(this.sourceNode)) {
      this.node.append(this.sourceNode);
    }
    if (isSame && this.head.contains(this.descriptionNode)) {
      return;
    }
    const hadFocus = this.node.contains(document.activeElement);
    this.head.replaceChildren(
      this.descriptionNode,
      ...buttons.map((button, index) => this.createButton(button, index))
    );
    if (hadFocus) {
      this.node.querySelector('button')?.focus();
    }
  }

  /** Create the button at `index`. It calls the function that the button at this index has when it is clicked. */
  private createButton({ label, title = '', isMain = false }: BarButton, index: number): HTMLElement {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = `eca-Hunk-button${isMain ? ' eca-mod-main' : ''}`;
    button.textContent = label;
    button.title = title;
    button.addEventListener('click', () => {
      this.buttons[index]?.act();
    });
    return button;
  }
}

/** Set the text of an element, unless the element has this text already. So a selection of the user in it is kept. */
function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/**
 * The place of a bar in a cell. `within`: the bar is about this cell. `above` or `below`: the bar is about a cell that
 * is not in the notebook, because it will be inserted, or was deleted, above or below this cell.
 */
export type BarPlace = 'above' | 'within' | 'below';

/** Insert a bar into the layout of a cell. */
export function insertBar(cell: Cell, bar: Widget, place: BarPlace): void {
  const layout = cell.layout as PanelLayout;
  // In Lab a cell consists of a header, the input, the output of a code cell, and a footer.
  const input = layout.widgets.findIndex(widget => widget.hasClass('jp-Cell-inputWrapper'));
  const indexes: Readonly<Record<BarPlace, number>> = {
    above: 1,
    within: Math.max(input, 1),
    below: layout.widgets.length - 1
  };
  layout.insertWidget(indexes[place], bar);
}
