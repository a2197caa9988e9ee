/**
 * Draws what an approval rule would do with the newest tool calls of the user's chats, below the form of the rule. So
 * the user sees whether a pattern matches what it is meant for, before the rule is written.
 *
 * This module decides nothing: the server does (`host/operations/rule_trials.py`).
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { createElement } from '../view/common/element';
import { ApprovalsTryResult, RuleText } from '../wire/protocol';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { describeError } from '../view/common/error_text';
import { TextWithCode } from '../view/common/TextWithCode';
import { explainDecision } from '../view/tools/approval_reason';

/** Return what happens to a call, in words, by the decision about it. */
export function nameDecisions(trans: TranslationBundle): Readonly<Record<RuleText['decision'], string>> {
  return {
    allow: trans.__('runs without asking'),
    ask: trans.__('needs approval'),
    alwaysAsk: trans.__('needs approval each time'),
    deny: trans.__('is forbidden')
  };
}

interface Props {
  /** Tries the rule; undefined while there is no rule that can be tried. It throws the errors of the server. */
  readonly onTry: (() => Promise<ApprovalsTryResult>) | undefined;
}

/** Draws the button that tries the rule, and the result. */
export function RuleTrial({ onTry }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [result, setResult] = React.useState<ApprovalsTryResult>();
  const [error, setError] = React.useState('');
  const tryRule = async (): Promise<void> => {
    try {
      setResult(await onTry?.());
      setError('');
    } catch (reason) {
      setError(describeError(reason, trans));
    }
  };
  return (
    <>
      <div className="eca-Card-actions">
        <button type="button" className="eca-Button" disabled={!onTry} onClick={() => void tryRule()}>
          {trans.__('Try it on recent calls')}
        </button>
      </div>
      {error !== '' && (
        <p className="eca-Trouble" role="alert">
          <TextWithCode text={error} />
        </p>
      )}
      {error === '' && result && <TriedCalls result={result} />}
    </>
  );
}

/**
 * Scroll to an element. React calls this when it has added the element, and with null when it has removed it. The
 * function is the same at each drawing, so that React does not call it again.
 */
function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest' });
}

/** Draws what the rule would do with each call, and what has happened to it. */
export function TriedCalls({ result: { calls } }: { readonly result: ApprovalsTryResult }): React.ReactElement {
  const { trans } = useEnv();
  if (calls.length === 0) {
    return (
      <p className="eca-Note" role="status">
        {trans.__('Your chats have no call of this tool yet.')}
      </p>
    );
  }
  const decisions = nameDecisions(trans);
  // What has happened to a call.
  const pastTexts = {
    unasked: trans.__('ran without asking'),
    approved: trans.__('was approved'),
    rejected: trans.__('was rejected'),
    forbidden: trans.__('was forbidden'),
    notRun: trans.__('did not run'),
    open: trans.__('has not ended yet')
  };
  return (
    <>
      <p className="eca-Note" role="status">
        {trans.__(
          'The rule matches %1 of the newest %2 calls of this tool.',
          calls.filter(({ selected }) => selected).length,
          calls.length
        )}
      </p>
      <table className="eca-RuleTrial" ref={scrollIntoView}>
        <thead>
          <tr>
            <th scope="col">{trans.__('Call')}</th>
            <th scope="col">{trans.__('With this rule')}</th>
            <th scope="col">{trans.__('What happened')}</th>
          </tr>
        </thead>
        <tbody>
          {calls.map(({ chatId, toolCallId, name, summary, at, selected, decision, cause, happened }) => (
            <tr key={`${String(chatId)} ${toolCallId}`} className={selected ? '' : 'eca-mod-unmatched'}>
              <th scope="row" dir="auto">
                {toExactText(summary ?? name)}
              </th>
              <td>
                {decisions[decision]}
                {cause && (
                  <span className="eca-Note">
                    {/* `user-config` is the reason of a call that a rule forbids. */}
                    {explainDecision(
                      { cause, asked: decision === 'ask', ...(decision === 'deny' && { reason: 'user-config' }) },
                      trans
                    )}
                  </span>
                )}
              </td>
              <td>
                {pastTexts[happened]}
                <time className="eca-Note" dateTime={new Date(at).toISOString()}>
                  {new Date(at).toLocaleString()}
                </time>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
