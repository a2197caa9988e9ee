/**
 * The line below the prompt box: the connection, the context used, and the cost of the chat.
 *
 * Knows no session: `App.tsx` passes the figures.
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
  const says: Readonly<Record<Connection, string>> = {
    connecting: trans.__('Connecting…'),
    open: trans.__('Connected'),
    lost: trans.__('Connection lost, trying again…'),
    absent: trans.__('No assistant on this server')
  };
  return (
    <div className="eca-Status">
      <span className={`eca-Connection eca-mod-${connection}`} title={says[connection]}>
        <span className="eca-Hidden">{says[connection]}</span>
      </span>
      {connection === 'open' ? <UsageText usage={usage} /> : <span>{says[connection]}</span>}
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

function Meter({ usage }: { readonly usage: UsageContent }): React.ReactElement {
  const { trans } = useEnv();
  const most = usage.limit?.context ?? 0;
  const says = trans.__('Context %1', formatCount(usage.sessionTokens));
  if (most === 0) {
    return <span className="eca-Meter">{says}</span>;
  }
  const share = Math.min(1, usage.sessionTokens / most);
  const label = trans.__('%1 of %2 tokens of context used', formatCount(usage.sessionTokens), formatCount(most));
  return (
    <span
      className="eca-Meter"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={most}
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
