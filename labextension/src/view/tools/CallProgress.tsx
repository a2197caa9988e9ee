/**
 * Shows the progress of a running tool call: a bar if the total is known, and the last lines of its output.
 *
 * `ToolDetails.tsx` shows the output of a call that has ended.
 */

import * as React from 'react';

import { ToolBlock } from '../../chat/blocks';
import { toPlainText } from '../../render/format';
import { createElement } from '../common/element';
import { DecisionActions } from './Approval';
import { useEnv } from '../common/env';
import { useMayAsk } from '../common/rights';

/** How many of the last lines are shown. The whole output is shown when the call has ended. */
const TAIL_LINES = 6;

/** The fields of the progress, and what the button *Run in background* needs. `id` is the id of the call. */
type Props = NonNullable<ToolBlock['progress']> &
  Pick<DecisionActions, 'chatId' | 'onBackground'> & { readonly id: string };

/** Draws the progress. `background`: the call can continue as a background job, and gets a button for that. */
export function CallProgress(props: Props): React.ReactElement {
  const { chatId, id, text, progress, total, background, onBackground } = props;
  const { trans } = useEnv();
  // A user who may only read the chats gets no button.
  const mayAsk = useMayAsk();
  const isTotalKnown = progress !== undefined && total !== undefined && total > 0;
  const tail = toPlainText(text).trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  return (
    <div className="eca-Tool-progress">
      {isTotalKnown && (
        <progress
          aria-label={trans.__('Progress of this tool call')}
          max={total}
          value={Math.min(Math.max(progress, 0), total)}
        />
      )}
      {tail !== '' && <pre dir="auto">{tail}</pre>}
      {background === true && mayAsk && (
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            onBackground(id, chatId);
          }}
        >
          {trans.__('Run in background')}
        </button>
      )}
    </div>
  );
}
