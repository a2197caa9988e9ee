/**
 * A message of the user that waits: for the next step of the turn (steering), or for its end (the queue).
 *
 * Knows no session: `App.tsx` passes what *Take back* does.
 */

import * as React from 'react';

import { toPlainText } from '../../render/format';
import { useEnv } from '../common/env';

interface Props {
  readonly text: string;
  readonly why: string;
  readonly onTakeBack: () => void;
}

export function PendingMessage({ text, why, onTakeBack }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-User eca-mod-waiting">
      <p dir="auto">{toPlainText(text)}</p>
      <small>
        {why}{' '}
        <button type="button" className="eca-Link" onClick={onTakeBack}>
          {trans.__('Take back')}
        </button>
      </small>
    </div>
  );
}
