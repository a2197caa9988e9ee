/**
 * Shows a message of the user that waits to be sent to the model. A steering message waits until the running turn sends
 * its next request to the model. A message of the queue waits until the turn ends.
 *
 * This module knows no session: `App.tsx` passes the function that *Take back* calls.
 */

import * as React from 'react';

import { ChatContext } from '../../wire/protocol';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { TextWithMentions } from './Mention';

interface Props {
  readonly text: string;
  readonly contexts: readonly ChatContext[];
  /** What the message waits for, in words. */
  readonly waitsFor: string;
  /** Puts the message back into the prompt box. */
  readonly onTakeBack: () => void;
}

/** Draws the message, what it waits for, and the button that takes it back. */
export function PendingMessage({ text, contexts, waitsFor, onTakeBack }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-User eca-mod-waiting">
      <p dir="auto">
        <TextWithMentions text={text} contexts={contexts} />
      </p>
      <small>
        {waitsFor}{' '}
        <button type="button" className="eca-Link" onClick={onTakeBack}>
          {trans.__('Take back')}
        </button>
      </small>
    </div>
  );
}
