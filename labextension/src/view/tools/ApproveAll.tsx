/**
 * Draws the button that approves all waiting tool calls, when there are several.
 *
 * It approves exactly the calls that are drawn when it is clicked, each by its own id: see `decision_keys.ts`.
 */

import * as React from 'react';

import { Session } from '../../chat/session';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { Rights } from '../common/rights';
import { CallInChat, DECISION_KEYS, NextDecision, selectUnchangedCalls } from './decision_keys';

/** Approve the calls that the user has seen. A call that was decided or has changed since then is left out. */
export function approveShownCalls(session: Session, shownCalls: readonly CallInChat[]): void {
  selectUnchangedCalls(shownCalls, session.chat).forEach(({ block, chatId }) => {
    session.approve(block.id, false, chatId);
  });
}

interface Props {
  /** The calls that wait. */
  readonly calls: readonly CallInChat[];
  /** Called with the calls that are drawn when the button is clicked. */
  readonly onApproveAll: (calls: readonly CallInChat[]) => void;
}

/** Draws the button; nothing when fewer than two calls wait, or when the user may not approve calls. */
export function ApproveAll({ calls, onApproveAll }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  // In a page without keys for decisions, the context is undefined.
  const hasKeys = React.useContext(NextDecision) !== undefined;
  const mayApprove = React.useContext(Rights)?.approves ?? true;
  return calls.length < 2 || !mayApprove ? null : (
    <div className="eca-ApproveAll" role="group" aria-label={trans.__('All calls that wait')}>
      <button
        type="button"
        className="eca-Button"
        aria-keyshortcuts={hasKeys ? 'Control+Shift+Enter' : undefined}
        title={trans.__('Approve the calls that are shown now, and none that come later')}
        onClick={() => {
          onApproveAll(calls);
        }}
      >
        {trans.__('Approve all %1', calls.length)}
        {hasKeys && <kbd aria-hidden="true">{DECISION_KEYS.approveAll}</kbd>}
      </button>
    </div>
  );
}
