/**
 * Shows an estimate below the text in the prompt box: the tokens, the cost and, if the user asks for it, the exact
 * request.
 *
 * This module knows no session: an `EstimateSource` makes the estimates; see `chat/estimates.ts`.
 */

import * as React from 'react';

import type { Estimate } from '../../chat/estimates';
import { ChatContext } from '../../wire/protocol';
import { formatCount, formatCost } from '../../render/format';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { IconButton } from '../common/Icon';
import { LongText } from '../common/LongText';

/** Makes estimates. `withPlace`: the place in the notebook is sent as a context, too. */
export interface EstimateSource {
  /** Makes an estimate; undefined when the request for it failed. */
  readonly estimate: (
    text: string,
    contexts: readonly ChatContext[],
    withPlace: boolean
  ) => Promise<Estimate | undefined>;
  /** Makes an estimate that has the exact request, too. */
  readonly estimateWithRequest: EstimateSource['estimate'];
}

interface Props {
  /** Makes the estimates. */
  readonly source: EstimateSource;
  /** The text in the prompt box. */
  readonly text: string;
  /** The contexts that are sent with the text. */
  readonly contexts: readonly ChatContext[];
  /** Whether the place in the notebook is sent as a context, too. */
  readonly withPlace: boolean;
  /** The place in the notebook, in words. When it changes, a new estimate is made. */
  readonly place: string;
}

/** The pause in typing, in milliseconds, after which an estimate is requested. */
const PAUSE_MS = 500;

/** Draws the line with the estimate; nothing for an empty text. */
export function EstimateLine({ source, text, contexts, withPlace, place }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const estimate = useEstimate(source, text, contexts, withPlace, place);
  /** The exact request as text; undefined while it is not shown. */
  const [request, setRequest] = React.useState<string>();
  if (text === '' || estimate === undefined) {
    return null;
  }
  return (
    <div className="eca-Estimate">
      {request !== undefined && (
        <section className="eca-Estimate-request" role="region" aria-label={trans.__('The exact request')}>
          <header>
            <span>{trans.__('What would be sent to %1', estimate.model)}</span>
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
        <EstimateFigures estimate={estimate} />
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            void source.estimateWithRequest(text, contexts, withPlace).then(result => {
              setRequest(result?.request);
            });
          }}
        >
          {trans.__('Show the exact request')}
        </button>
      </p>
    </div>
  );
}

/** Shows the tokens and the cost of an estimate. */
export function EstimateFigures({ estimate }: { readonly estimate: Estimate }): React.ReactElement {
  const { trans } = useEnv();
  const { inputTokens, cost, contextLimit, model } = estimate;
  const isTooLong = contextLimit !== undefined && inputTokens > contextLimit;
  return (
    <>
      <span
        className={isTooLong ? 'eca-mod-full' : undefined}
        title={trans.__('Estimated: what %1 would read before it answers', model)}
      >
        {isTooLong
          ? trans.__('≈ %1 tokens, more than the limit of %2', formatCount(inputTokens), formatCount(contextLimit))
          : trans.__('≈ %1 tokens', formatCount(inputTokens))}
      </span>
      <span title={trans.__('Estimated: the cost of the message. The cost of the answer is added')}>
        {cost === undefined ? trans.__('price unknown') : trans.__('%1 + answer', formatCost(String(cost)))}
      </span>
    </>
  );
}

/**
 * Return the last estimate for a text; undefined when there is none. An estimate is requested when the user stops
 * typing, and again whenever an argument has changed. The arguments are the props of `EstimateLine`.
 */
function useEstimate(
  { estimate }: EstimateSource,
  text: string,
  contexts: readonly ChatContext[],
  withPlace: boolean,
  place: string
): Estimate | undefined {
  const [latest, setLatest] = React.useState<Estimate>();
  React.useEffect(() => {
    if (text === '') {
      setLatest(undefined);
      return undefined;
    }
    let isStale = false;
    const timer = window.setTimeout(() => {
      void estimate(text, contexts, withPlace).then(estimate => {
        if (!isStale) {
          setLatest(estimate);
        }
      });
    }, PAUSE_MS);
    return () => {
      isStale = true;
      window.clearTimeout(timer);
    };
  }, [estimate, text, contexts, withPlace, place]);
  return latest;
}
