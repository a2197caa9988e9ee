/**
 * The estimate under the prompt box: tokens, cost and, on demand, the exact request.
 *
 * Knows no session: the estimates come from an `EstimateSource`; see `chat/estimates.ts`.
 */

import * as React from 'react';

import type { Estimate } from '../../chat/estimates';
import { ChatContext } from '../../wire/protocol';
import { formatCount, formatCost } from '../../render/format';
import { useEnv } from '../common/env';
import { IconButton } from '../common/Icon';
import { LongText } from '../common/LongText';

/** Makes estimates. `along`: with the place in the notebook as a context. */
export interface EstimateSource {
  readonly estimate: (text: string, contexts: readonly ChatContext[], along: boolean) => Promise<Estimate | undefined>;
  readonly estimateWithRequest: EstimateSource['estimate'];
}

interface Props {
  readonly source: EstimateSource;
  readonly text: string;
  readonly contexts: readonly ChatContext[];
  readonly withPlace: boolean;
  /** The place in the notebook; when it changes, a new estimate is made. */
  readonly place: string;
}

/** An estimate is made when the user has not typed for this time. */
const REST_MS = 500;

export function EstimateLine({ source, text, contexts, withPlace, place }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const found = useEstimate(source, text, contexts, withPlace, place);
  const [request, setRequest] = React.useState<string>();
  if (text === '' || found === undefined) {
    return null;
  }
  return (
    <div className="eca-Estimate">
      {request !== undefined && (
        <section className="eca-Estimate-request" role="region" aria-label={trans.__('The exact request')}>
          <header>
            <span>{trans.__('What would be sent to %1', found.model)}</span>
            <IconButton
              icon="close"
              label={trans.__('Close the request')}
              onClick={() => {
                setRequest(undefined);
              }}
            />
          </header>
          <LongText text={request} />
        </section>
      )}
      <p>
        <Figures estimate={found} />
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            void source.estimateWithRequest(text, contexts, withPlace).then(exactly => {
              setRequest(exactly?.request);
            });
          }}
        >
          {trans.__('Show the exact request')}
        </button>
      </p>
    </div>
  );
}

export function Figures({ estimate }: { readonly estimate: Estimate }): React.ReactElement {
  const { trans } = useEnv();
  const { inputTokens, cost, contextLimit, model } = estimate;
  const full = contextLimit !== undefined && inputTokens > contextLimit;
  return (
    <>
      <span
        className={full ? 'eca-mod-full' : undefined}
        title={trans.__('Estimated: what %1 would read before it answers', model)}
      >
        {full
          ? trans.__('≈ %1 tokens, more than the limit of %2', formatCount(inputTokens), formatCount(contextLimit))
          : trans.__('≈ %1 tokens', formatCount(inputTokens))}
      </span>
      <span title={trans.__('The cost of the answer is added')}>
        {cost === undefined ? trans.__('price unknown') : trans.__('%1 + answer', formatCost(String(cost)))}
      </span>
    </>
  );
}

/** Request an estimate when the user stops typing, and again only when something has changed. */
function useEstimate(
  { estimate }: EstimateSource,
  text: string,
  contexts: readonly ChatContext[],
  along: boolean,
  place: string
): Estimate | undefined {
  const [found, setFound] = React.useState<Estimate>();
  React.useEffect(() => {
    if (text === '') {
      setFound(undefined);
      return undefined;
    }
    let stale = false;
    const timer = window.setTimeout(() => {
      void estimate(text, contexts, along).then(estimate => {
        if (!stale) {
          setFound(estimate);
        }
      });
    }, REST_MS);
    return () => {
      stale = true;
      window.clearTimeout(timer);
    };
  }, [estimate, text, contexts, along, place]);
  return found;
}
