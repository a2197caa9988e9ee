/**
 * The buttons that approve or reject a waiting tool call, and the field for a reason, which is sent to the model.
 *
 * Knows no session: what a button does comes as `Decide`. Writing a rule is in `RuleProposal.tsx`.
 */

import * as React from 'react';

import { ChatId } from '../../wire/protocol';
import { RuleForm } from './RuleProposal';
import { useEnv } from '../common/env';
import { toExactText } from '../../render/format';

export interface Decide {
  /** Let the call continue as a background job. In all of these, the chat that is shown is meant when none is given. */
  readonly onBackground: (id: string, chatId?: ChatId) => void;
  readonly onApprove: (id: string, session: boolean, chatId?: ChatId) => void;
  readonly onReject: (id: string, reason: string, chatId?: ChatId) => void;
}

/**
 * Reasons that the user is writing, by the ids of their calls, and whether their field has the focus. Kept outside of the
 * view, because a card may be drawn anew while its call waits: when its chat is replayed or left for the list, when the
 * call around it is folded, or when the panel is moved.
 */
export const begun = new Map<string, { readonly reason: string; readonly focused: boolean }>();

interface ApprovalProps extends Omit<Decide, 'onBackground'> {
  readonly id: string;
  /** What an approval for the session would remember, in words. Without it, there is no such button. */
  readonly remembers?: readonly string[] | undefined;
  /** Whether a rule could allow such calls. */
  readonly withRule: boolean;
}

export function Approval({ id, remembers, withRule, onApprove, onReject }: ApprovalProps): React.ReactElement {
  const { trans, approvalRules } = useEnv();
  const [ruling, setRuling] = React.useState(false);
  const [rejecting, setRejecting] = React.useState(begun.has(id));
  if (ruling && approvalRules !== undefined) {
    return (
      <RuleForm
        id={id}
        approvalRules={approvalRules}
        onBack={() => {
          setRuling(false);
        }}
      />
    );
  }
  if (rejecting) {
    return (
      <RejectForm
        id={id}
        onReject={onReject}
        onBack={() => {
          setRejecting(false);
        }}
      />
    );
  }
  return (
    <div className="eca-Approval" role="group" aria-label={trans.__('May this run?')}>
      <button
        type="button"
        className="eca-Button eca-mod-main"
        onClick={() => {
          onApprove(id, false);
        }}
      >
        {trans.__('Approve')}
      </button>
      {remembers !== undefined && (
        <button
          type="button"
          className="eca-Button eca-Approval-session"
          title={trans.__('Do not ask again in this chat for: %1', formatScopes(remembers))}
          onClick={() => {
            onApprove(id, true);
          }}
        >
          {trans.__('Approve for session: %1', formatScopes(remembers))}
        </button>
      )}
      {approvalRules !== undefined && withRule && (
        <button
          type="button"
          className="eca-Button"
          title={trans.__('Write a rule so that such calls run without asking. You see the rule before it is written.')}
          onClick={() => {
            setRuling(true);
          }}
        >
          {trans.__('Always…')}
        </button>
      )}
      <button
        type="button"
        className="eca-Button"
        onClick={() => {
          begun.set(id, { reason: '', focused: true });
          setRejecting(true);
        }}
      >
        {trans.__('Reject…')}
      </button>
    </div>
  );
}

/** One line for each thing that is remembered. A line of the shell may have several lines itself. */
function formatScopes(remembers: readonly string[]): string {
  return toExactText(remembers.join(', ').replace(/\s*\n\s*/g, ' ↵ '));
}

type RejectProps = Pick<Decide, 'onReject'> & { readonly id: string; readonly onBack: () => void };

function RejectForm({ id, onReject, onBack }: RejectProps): React.ReactElement {
  const { trans } = useEnv();
  const field = React.useRef<HTMLInputElement | null>(null);
  const [before] = React.useState(begun.get(id));
  const [reason, setReason] = React.useState(before?.reason ?? '');
  // React calls this without an element just before the field is removed from the page.
  const hold = React.useCallback(
    (input: HTMLInputElement | null) => {
      const one = begun.get(id);
      if (input === null && one !== undefined) {
        begun.set(id, { ...one, focused: field.current === document.activeElement });
      }
      field.current = input;
    },
    [id]
  );
  const back = (): void => {
    begun.delete(id);
    onBack();
  };
  return (
    <form
      className="eca-Approval"
      onSubmit={event => {
        event.preventDefault();
        onReject(id, reason.trim());
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          back();
        }
      }}
    >
      <input
        ref={hold}
        className="eca-Input"
        autoFocus={before?.focused !== false}
        dir="auto"
        value={reason}
        aria-label={trans.__('Reason, sent to the assistant')}
        placeholder={trans.__('Why not? (optional, sent to the assistant)')}
        onChange={event => {
          begun.set(id, { reason: event.target.value, focused: true });
          setReason(event.target.value);
        }}
      />
      <button type="submit" className="eca-Button eca-mod-danger">
        {trans.__('Reject')}
      </button>
      <button type="button" className="eca-Button" onClick={back}>
        {trans.__('Back')}
      </button>
    </form>
  );
}
