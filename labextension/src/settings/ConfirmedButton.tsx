/**
 * Draws a button for an action that cannot be undone. The first press changes its label, the second runs the action.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { useEnv } from '../view/common/env';

interface Props {
  readonly label: string;
  /** The label after the first press. */
  readonly confirmLabel: string;
  /** The tooltip. */
  readonly title: string;
  /** Called at the second press. */
  readonly onConfirm: () => void;
}

/** Draws the button, and after the first press another one that cancels. */
export function ConfirmedButton({ label, confirmLabel, title, onConfirm }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [isConfirming, setConfirming] = React.useState(false);
  return (
    <>
      <button
        type="button"
        className="eca-Button eca-mod-danger"
        title={title}
        onClick={() => {
          if (isConfirming) {
            onConfirm();
          }
          setConfirming(!isConfirming);
        }}
      >
        {isConfirming ? confirmLabel : label}
      </button>
      {isConfirming && (
        <button
          type="button"
          className="eca-Button"
          onClick={() => {
            setConfirming(false);
          }}
        >
          {trans.__('Cancel')}
        </button>
      )}
    </>
  );
}
