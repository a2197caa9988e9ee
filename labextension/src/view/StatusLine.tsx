/**
 * Shows the line below the prompt box: the connection, the tokens, the cost, and how full the context is.
 *
 * This module knows no session: `App.tsx` passes the numbers.
 */

import * as React from 'react';

import { UsageContent } from '../wire/protocol';
import type { Estimate } from '../chat/estimates';
import { Connection } from '../chat/state';
import { formatCount, formatCost, formatNumber } from '../render/format';
import { createElement } from './common/element';
import { useEnv } from './common/env';
import { ContextMeter } from './ContextMeter';

interface Props {
  readonly connection: Connection;
  /** The tokens and the cost of the chat; null until the server has sent them. */
  readonly usage: UsageContent | null;
  /** Tries to connect now. */
  readonly onReconnect: () => void;
  /** Reloads the page. Jupyter then shows the page on which one signs in or starts the server. */
  readonly onReload: () => void;
  /** Replaces the messages of the chat by a summary. Undefined while that is not possible. */
  readonly onCompact: (() => void) | undefined;
  /** Estimates the tokens and the cost of the next request, as if the message of the user were empty. */
  readonly estimate: () => Promise<Estimate | undefined>;
}

/** The line. Without a connection, it shows only the state of the connection. */
export function StatusLine({
  connection,
  usage,
  onReconnect,
  onReload,
  onCompact,
  estimate
}: Props): React.ReactElement {
  const { trans } = useEnv();
  const texts: Readonly<Record<Connection, string>> = {
    connecting: trans.__('Connecting…'),
    open: trans.__('Connected'),
    lost: trans.__('Connection lost, trying again…'),
    'signed-out': trans.__('You are signed out.'),
    stopped: trans.__('The server is not running.'),
    absent: trans.__('No assistant on this server')
  };
  return (
    <div className="eca-Status">
      <span className={`eca-Connection eca-mod-${connection}`} title={texts[connection]}>
        <span className="eca-Hidden">{texts[connection]}</span>
      </span>
      {connection === 'open' ? (
        <UsageText usage={usage} onCompact={onCompact} estimate={estimate} />
      ) : (
        <span>{texts[connection]}</span>
      )}
      {(connection === 'lost' || connection === 'absent') && (
        <button type="button" className="eca-Link" onClick={onReconnect}>
          {trans.__('Try now')}
        </button>
      )}
      {(connection === 'signed-out' || connection === 'stopped') && (
        <button type="button" className="eca-Link" onClick={onReload}>
          {trans.__('Reload the page')}
        </button>
      )}
    </div>
  );
}

/** The tokens of the last message, the cost of the chat or of the last request, and the meter of the context. */
function UsageText({
  usage,
  onCompact,
  estimate
}: Pick<Props, 'usage' | 'onCompact' | 'estimate'>): React.ReactElement | null {
  const { trans } = useEnv();
  if (usage === null) {
    return null;
  }
  // If the price of one request is unknown, the cost of the whole chat is unknown, too. Then the cost of the last
  // request is shown. The server sends it under one of two names (see `UsageContent`).
  const lastCost = usage.messageCost ?? usage.lastMessageCost;
  return (
    <>
      <span
        title={trans.__(
          'Last request to the model: %1 tokens in, %2 tokens out',
          formatNumber(usage.messageInputTokens),
          formatNumber(usage.messageOutputTokens)
        )}
      >
        {trans.__('↑ %1 ↓ %2', formatCount(usage.messageInputTokens), formatCount(usage.messageOutputTokens))}
      </span>
      {usage.sessionCost !== undefined ? (
        <span title={trans.__('This chat: %1', formatCost(usage.sessionCost))}>{formatCost(usage.sessionCost)}</span>
      ) : (
        lastCost !== undefined && (
          <span title={trans.__('Cost of the last request. The cost of this chat is not known.')}>
            {trans.__('last: %1', formatCost(lastCost))}
          </span>
        )
      )}
      <ContextMeter usage={usage} onCompact={onCompact} estimate={estimate} />
    </>
  );
}
