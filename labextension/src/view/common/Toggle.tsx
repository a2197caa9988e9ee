/**
 * Draws a button that opens and closes a part of a card.
 *
 * It keeps no state: the component that uses it passes whether the part is open, and changes that when it is clicked.
 */

import * as React from 'react';

import { createElement } from './element';

interface Props {
  readonly open: boolean;
  readonly onClick: () => void;
  readonly children: React.ReactNode;
}

/** Draws the button. `children` is its label. `open`: whether the part of the card is open. */
export function Toggle({ open, onClick, children }: Props): React.ReactElement {
  return (
    <button type="button" className="eca-Button" aria-expanded={open} onClick={onClick}>
      {children}
    </button>
  );
}
