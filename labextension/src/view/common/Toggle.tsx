/**
 * A button that opens and closes a part of a card.
 *
 * It keeps no state: the component that uses it passes whether the part is open.
 */

import * as React from 'react';

interface Props {
  readonly open: boolean;
  readonly onClick: () => void;
  readonly children: React.ReactNode;
}

export function Toggle({ open, onClick, children }: Props): React.ReactElement {
  return (
    <button type="button" className="eca-Button" aria-expanded={open} onClick={onClick}>
      {children}
    </button>
  );
}
