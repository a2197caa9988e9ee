/**
 * Shows the costs in the settings: of the last message, of the chat that the panel shows, of its notebook, and of
 * today.
 *
 * The server adds up the costs. Estimates are in `view/composer/Estimate.tsx`.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { createElement } from '../view/common/element';
import { ChatCostsResult, Cost, OutsideCost } from '../wire/protocol';
import { Session } from '../chat/session';
import { baseName, formatCost, formatNumber } from '../render/format';
import { useEnv } from '../view/common/env';

/** Fetches the costs of the chat that the panel shows, and shows them. */
export function Costs({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  // The result is not used: this only draws the view again when the state changes.
  React.useSyncExternalStore(session.subscribe, () => session.state);
  const [costs, setCosts] = React.useState<ChatCostsResult>();
  const { id, usage, title } = session.chat;
  React.useEffect(() => {
    void session.requestOrShowError('chat/costs', { chatId: id }).then(setCosts);
    // When the usage has changed, the costs have changed, too.
  }, [session, id, usage]);
  return costs === undefined ? (
    <p className="eca-Note">{trans.__('Loading…')}</p>
  ) : (
    <CostTable costs={costs} title={title} />
  );
}

/** Draws the table of costs. `title` is the title of the chat; empty when it has none. */
export function CostTable({
  costs,
  title
}: {
  readonly costs: ChatCostsResult;
  readonly title: string;
}): React.ReactElement {
  const { trans } = useEnv();
  // The label and the cost of each row. A row without a cost is not shown.
  const rows: readonly (readonly [string, Cost | undefined])[] = [
    [trans.__('Last message'), costs.message],
    [title === '' ? trans.__('This chat') : trans.__('This chat: %1', title), costs.chat],
    [trans.__('This notebook: %1', baseName(costs.path ?? '')), costs.notebook],
    [trans.__('Today, all chats'), costs.today]
  ];
  // The words and the numbers are those of the command `/costs` (`host/commands/costs.py`).
  const table = (
    <table className="eca-Costs">
      <thead>
        <tr>
          <th scope="col">
            <span className="eca-Hidden">{trans.__('What for')}</span>
          </th>
          <th scope="col">{trans.__('Cost')}</th>
          <th scope="col">{trans.__('Requests')}</th>
          <th scope="col">{trans.__('Tokens in')}</th>
          <th scope="col">{trans.__('Of these cached')}</th>
          <th scope="col">{trans.__('Tokens out')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(
          ([name, cost]) =>
            cost !== undefined && (
              <tr key={name}>
                <th scope="row" dir="auto">
                  {name}
                </th>
                <td>{describeCost(cost, trans)}</td>
                <td>{formatNumber(cost.requests)}</td>
                <td>{formatNumber(cost.inputTokens)}</td>
                <td>{formatNumber(cost.cachedTokens)}</td>
                <td>{formatNumber(cost.outputTokens)}</td>
              </tr>
            )
        )}
      </tbody>
    </table>
  );
  return (
    <>
      {table}
      {costs.outside?.map(cost => (
        <p key={cost.agent} className="eca-Note" dir="auto">
          {describeOutsideCost(cost, trans)}
        </p>
      ))}
    </>
  );
}

/**
 * Return the sentence about the cost that an outside agent reports. The cost is undefined if the agent reports what it
 * has used, but no price in USD. The kernel's `describe_outside_cost` has the same sentence.
 */
function describeOutsideCost({ agent, cost }: OutsideCost, trans: TranslationBundle): string {
  return cost === undefined
    ? trans.__(
        '%1 says that it has used an unknown amount of USD in this chat. Costs of outside agents are not counted in budgets.',
        agent
      )
    : trans.__(
        '%1 says that it has cost %2 in this chat. Costs of outside agents are not counted in budgets.',
        agent,
        formatCost(String(cost))
      );
}

/** Return the cost in words. `unpriced` is the number of requests of unknown price, which the cost does not contain. */
function describeCost({ cost, requests, unpriced }: Cost, trans: TranslationBundle): string {
  if (requests > 0 && unpriced === requests) {
    return trans.__('unknown');
  }
  const knownCost = formatCost(String(cost));
  return unpriced === 0 ? knownCost : trans.__('%1 and %2 of unknown price', knownCost, unpriced);
}
