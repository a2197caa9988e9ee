/**
 * Shows the line below the prompt box: the connection, the tokens, the cost of the chat, and how full the context is.
 *
 * This module knows no session: `App.tsx` passes the figures.
 */

import * as React from 'react';

import { UsageContent } from '../wire/protocol';
import { Connection } from '../chat/state';
import { formatCount, formatCost } from '../render/format';
import { useEnv } from './common/env';

interface Props {
  readonly connection: Connection;
  readonly usage: UsageContent | null;
  readonly onReconnect: () => void;
}

export function StatusLine({ connection, usage, onReconnect }: Props): React.ReactElement {
  const { trans } = useEnv();
  const texts: Readonly<Record<Connection, string>> = {
    connecting: trans.__('Connecting…'),
    open: trans.__('Connected'),
    lost: trans.__('Connection lost, trying again…'),
    absent: trans.__('No assistant on this server')
  };
  return (
    <div className="eca-Status">
      <span className={`eca-Connection eca-mod-${connection}`} title={texts[connection]}>
        <span className="eca-Hidden">{texts[connection]}</span>
      </span>
      {connection === 'open' ? <UsageText usage={usage} /> : <span>{texts[connection]}</span>}
      {(connection === 'lost' || connection === 'absent') && (
        <button type="button" className="eca-Link" onClick={onReconnect}>
          {trans.__('Try now')}
        </button>
      )}
    </div>
  );
}

function UsageText({ usage }: { readonly usage: UsageContent | null }): React.ReactElement | null {
  const { trans } = useEnv();
  if (usage === null) {
    return null;
  }
  const cost = usage.sessionCost ?? usage.messageCost ?? usage.lastMessageCost;
  return (
    <>
      <span
        title={trans.__(
          'Tokens of the last message: read %1, written %2',
          usage.messageInputTokens,
          usage.messageOutputTokens
        )}
      >
        {trans.__('↑ %1 ↓ %2', formatCount(usage.messageInputTokens), formatCount(usage.messageOutputTokens))}
      </span>
      {cost !== undefined && <span title={trans.__('Cost of this chat')}>{formatCost(cost)}</span>}
      <Meter usage={usage} />
    </>
  );
}

/** Shows how much of the model's context the chat fills. If the limit is not known, it shows the number of tokens. */
function Meter({ usage }: { readonly usage: UsageContent }): React.ReactElement {
  const { trans } = useEnv();
  const limit = usage.limit?.context ?? 0;
  const text = trans.__('Context %1', formatCount(usage.sessionTokens));
  if (limit === 0) {
    return <span className="eca-Meter">{text}</span>;
  }
  const share = Math.min(1, usage.sessionTokens / limit);
  const label = trans.__('%1 of %2 tokens of context used', formatCount(usage.sessionTokens), formatCount(limit));
  return (
    <span
      className="eca-Meter"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={usage.sessionTokens}
      title={label}
    >
      <span className={`eca-Meter-bar${share > 0.8 ? ' eca-mod-full' : ''}`}>
        <span style={{ inlineSize: `${(100 * share).toFixed(1)}%` }} />
      </span>
      {Math.round(100 * share)}%
    </span>
  );
}
