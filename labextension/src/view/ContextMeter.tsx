/**
 * Shows how full the model's context window is, which is the number of tokens that a request may have. A click opens a
 * box that shows what fills it. A button in the box compacts the chat: a summary replaces the messages.
 *
 * The figures are those of the last request. The provider counted all tokens of the request, and the engine estimated
 * how many of them belong to each part (`engine/model/context_window.py`). This module knows no session: `App.tsx`
 * sends the command that compacts the chat.
 */

import * as React from 'react';

import { ContextBreakdown, UsageContent } from '../wire/protocol';
import type { Estimate } from '../chat/estimates';
import { formatCount } from '../render/format';
import { createElement } from './common/element';
import { useEnv } from './common/env';
import { IconButton } from './common/Icon';
import { usePopup } from './common/popup';

interface Props {
  /** The tokens of the chat, and the size of the window. */
  readonly usage: UsageContent;
  /** Replaces the messages of the chat by a summary. Undefined while that is not possible. */
  readonly onCompact: (() => void) | undefined;
  /** Estimates the next request without a message of the user. */
  readonly estimate: () => Promise<Estimate | undefined>;
}

/** When more than this share of the window (from 0 to 1) is used, the meter warns. */
const NEARLY_FULL = 0.8;

/** The meter, and the box that it opens. If the size of the window is not known, it shows only the tokens. */
export function ContextMeter({ usage, onCompact, estimate }: Props): React.ReactElement {
  const { trans } = useEnv();
  // The box itself gets the focus when it opens.
  const { open, setOpen, close, frameProps } = usePopup('[role=dialog]');
  const limit = usage.limit?.context ?? 0;
  const usedText = formatCount(usage.sessionTokens);
  const share = limit === 0 ? undefined : Math.min(1, usage.sessionTokens / limit);
  const label =
    share === undefined
      ? trans.__('%1 tokens of context used', usedText)
      : trans.__('%1 of %2 tokens of context used', usedText, formatCount(limit));
  const nextEstimate = useNextEstimate(estimate, open);
  return (
    <div className="eca-Meter-frame" {...frameProps}>
      <button
        type="button"
        className="eca-Meter"
        aria-label={label}
        aria-haspopup="dialog"
        aria-expanded={open}
        title={trans.__('%1. Click to see what fills it.', label)}
        onClick={() => {
          setOpen(!open);
        }}
      >
        {share === undefined ? (
          trans.__('Context %1', usedText)
        ) : (
          <>
            <span className={`eca-Meter-bar${share > NEARLY_FULL ? ' eca-mod-full' : ''}`}>
              <span style={{ inlineSize: formatShare(share, 1) }} />
            </span>
            {formatShare(share)}
          </>
        )}
      </button>
      {open && (
        <div className="eca-Context" role="dialog" aria-label={trans.__('What fills the context')} tabIndex={-1}>
          <div className="eca-Context-row">
            <span>{label}</span>
            <IconButton icon="close" label={trans.__('Close')} onClick={close} />
          </div>
          {usage.contextBreakdown !== undefined && <Breakdown breakdown={usage.contextBreakdown} />}
          <p>
            {trans.__('After the last answer. The total is what the model’s server counted; the parts are estimated.')}
          </p>
          {nextEstimate !== undefined && (
            <p>{trans.__('Next request: ≈ %1 tokens, without your message', formatCount(nextEstimate.inputTokens))}</p>
          )}
          <div className="eca-Context-row">
            <button
              type="button"
              className="eca-Button"
              disabled={onCompact === undefined}
              title={trans.__('The messages of this chat are replaced by a summary')}
              onClick={() => {
                close();
                onCompact?.();
              }}
            >
              {trans.__('Compact')}
            </button>
            {usage.autoCompactPercentage !== undefined && (
              <span>{trans.__('Automatic at %1', `${String(usage.autoCompactPercentage)}%`)}</span>
            )}
          </div>
        </div>
      )}
    </div>
  );
}

/**
 * Return the estimate of the next request. The figures of the last request do not show that the chat was compacted
 * afterwards, but this estimate does. The estimate is made when the box opens. It is undefined until it has arrived,
 * and while the box is closed (`open` is false).
 */
function useNextEstimate(estimate: Props['estimate'], open: boolean): Estimate | undefined {
  // `estimate` is another function at each render. In a React ref it does not restart the effect.
  const latest = React.useRef(estimate);
  latest.current = estimate;
  const [nextEstimate, setNextEstimate] = React.useState<Estimate>();
  React.useEffect(() => {
    let isWanted = open;
    if (open) {
      void latest.current().then(result => {
        if (isWanted) {
          setNextEstimate(result);
        }
      });
    }
    return () => {
      isWanted = false;
      setNextEstimate(undefined);
    };
  }, [open]);
  return nextEstimate;
}

/**
 * Shows the parts of the last request as a bar and as a table, with the share of each part: its share of the window or,
 * if the size of the window is unknown, of the tokens that are used.
 */
export function Breakdown({ breakdown }: { readonly breakdown: ContextBreakdown }): React.ReactElement {
  const { trans } = useEnv();
  const { categories, usedTokens, freeTokens, contextLimit } = breakdown;
  const totalTokens = Math.max(contextLimit ?? 0, usedTokens, 1);
  /** The names of ECA's categories, for the user. */
  const names: Readonly<Record<string, string>> = {
    'System prompt': trans.__('Instructions'),
    Tools: trans.__('Tools'),
    Files: trans.__('Contexts'),
    Messages: trans.__('History'),
    'Tool results': trans.__('Results of tools')
  };
  const parts = categories.map(({ name, tokens }) => ({ name: names[name] ?? name, tokens }));
  return (
    <>
      {/* The style sheet chooses the colour of each part by its `data-part`. */}
      <div className="eca-Context-bar" aria-hidden="true">
        {parts.map(({ tokens }, index) => (
          <span key={index} data-part={index} style={{ inlineSize: formatShare(tokens / totalTokens, 2) }} />
        ))}
      </div>
      <table>
        <tbody>
          {parts.map(({ name, tokens }, index) => (
            <tr key={index}>
              <th scope="row">
                <span className="eca-Context-color" data-part={index} aria-hidden="true" />
                {name}
              </th>
              <td>{formatCount(tokens)}</td>
              <td>{formatShare(tokens / totalTokens)}</td>
            </tr>
          ))}
          {freeTokens !== undefined && (
            <tr>
              <th scope="row">
                <span className="eca-Context-color" aria-hidden="true" />
                {trans.__('Free')}
              </th>
              <td>{formatCount(freeTokens)}</td>
              <td>{formatShare(freeTokens / totalTokens)}</td>
            </tr>
          )}
        </tbody>
      </table>
    </>
  );
}

/** Format a share in per cent: 0.25 is `25%`. `digits`: how many digits after the point. */
function formatShare(share: number, digits = 0): string {
  return `${(100 * share).toFixed(digits)}%`;
}
