/**
 * Draws the buttons that approve or reject a waiting tool call, and the field for the reason of a rejection.
 *
 * This module knows no session: `DecisionActions` has the functions that the buttons call. `RuleProposal.tsx` writes a
 * rule.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { makeCallKey } from '../../chat/approval_rules';
import type { PartCount } from '../../chat/blocks';
import { ChatId } from '../../wire/protocol';
import { createElement } from '../common/element';
import { RuleForm } from './RuleProposal';
import { useEnv } from '../common/env';
import { Rights } from '../common/rights';
import { DECISION_KEYS, NextDecision } from './decision_keys';
import { toExactText } from '../../render/format';

/** The functions of the buttons of a tool call. `id` is the id of the call. */
export interface DecisionActions {
  /** The chat of the call: the one that is shown, or that of a subagent. */
  readonly chatId: ChatId;
  /** Lets the running call continue as a background job. */
  readonly onBackground: (id: string, chatId: ChatId) => void;
  /** Approves the call. `forSession`: the approval is remembered for the rest of the chat. */
  readonly onApprove: (id: string, forSession: boolean, chatId: ChatId) => void;
  /** Rejects the call. The model reads the reason, which may be empty. */
  readonly onReject: (id: string, reason: string, chatId: ChatId) => void;
}

/**
 * The reasons that the user is writing, by the keys of the calls (see `makeCallKey`), and whether the field has the
 * focus. They are kept outside of the view, because React may create a card again while its call waits: when the chat
 * is replayed, when the user opens the list of chats and comes back, when the card around a subagent's card is folded,
 * or when the panel is moved.
 */
export const draftReasons = new Map<string, { readonly reason: string; readonly focused: boolean }>();

interface ApprovalProps extends Omit<DecisionActions, 'onBackground'> {
  /** The id of the call. */
  readonly id: string;
  /** What an approval for the session would allow, in words. If undefined, there is no such button. */
  readonly remembers?: readonly string[] | undefined;
  /** Whether a rule could allow calls like this one. */
  readonly canHaveRule: boolean;
  /** How many parts of the change, such as its hunks, are approved; undefined when the user leaves out no part. */
  readonly parts?: PartCount | undefined;
}

/** Draws the buttons or, after a click on one of them, the form for a reason or the proposal of a rule. */
export function Approval({
  chatId,
  id,
  remembers,
  canHaveRule,
  parts,
  onApprove,
  onReject
}: ApprovalProps): React.ReactElement {
  const { trans, approvalRules } = useEnv();
  // The call that a key would decide about; undefined where there are no keys.
  const next = React.useContext(NextDecision);
  const rights = React.useContext(Rights);
  /** Whether the proposal of a rule is shown. */
  const [proposing, setProposing] = React.useState(false);
  /** Whether the form for the reason of a rejection is shown. */
  const [rejecting, setRejecting] = React.useState(draftReasons.has(makeCallKey(chatId, id)));
  if (proposing && approvalRules !== undefined) {
    return (
      <RuleForm
        chatId={chatId}
        id={id}
        approvalRules={approvalRules}
        onBack={() => {
          setProposing(false);
        }}
      />
    );
  }
  if (rejecting) {
    return (
      <RejectForm
        chatId={chatId}
        id={id}
        onReject={onReject}
        onBack={() => {
          setRejecting(false);
        }}
      />
    );
  }
  // `hasKey`: a key rejects the call, too. The button shows that key.
  const drawRejectButton = (hasKey: boolean): React.ReactElement => (
    <button
      type="button"
      className="eca-Button"
      aria-keyshortcuts={hasKey ? 'Control+Backspace' : undefined}
      title={
        hasKey ? trans.__('%1, outside of the prompt box, rejects without a reason', DECISION_KEYS.reject) : undefined
      }
      onClick={() => {
        draftReasons.set(makeCallKey(chatId, id), { reason: '', focused: true });
        setRejecting(true);
      }}
    >
      {trans.__('Reject…')}
      {/* The name of the key is short. While the focus is in the prompt box, the style sheet hides the name, and leaves
          its room empty. */}
      {hasKey && <kbd aria-hidden="true">Ctrl+⌫</kbd>}
    </button>
  );
  if (rights?.approves === false) {
    return (
      <div className="eca-Approval" role="group" aria-label={trans.__('May this run?')}>
        <p className="eca-Note">{rights.reason}</p>
        {rights.asks && drawRejectButton(false)}
      </div>
    );
  }
  return (
    <div
      className={`eca-Approval${next === makeCallKey(chatId, id) ? ' eca-mod-next' : ''}`}
      role="group"
      aria-label={trans.__('May this run?')}
    >
      <button
        type="button"
        className="eca-Button eca-mod-main"
        aria-keyshortcuts={next === undefined ? undefined : 'Control+Enter'}
        disabled={parts?.changesSomething === false}
        onClick={() => {
          onApprove(id, false, chatId);
        }}
      >
        {parts === undefined ? trans.__('Approve') : trans.__('Approve %1 of %2 parts', parts.kept, parts.all)}
        {next !== undefined && <kbd aria-hidden="true">{DECISION_KEYS.approve}</kbd>}
      </button>
      {remembers !== undefined && (
        <button
          type="button"
          className="eca-Button eca-Approval-session"
          title={trans.__('Do not ask again in this chat for: %1', formatRemembered(remembers, trans))}
          onClick={() => {
            onApprove(id, true, chatId);
          }}
        >
          {trans.__('Approve for session: %1', formatRemembered(remembers, trans))}
        </button>
      )}
      {approvalRules !== undefined && canHaveRule && (
        <button
          type="button"
          className="eca-Button"
          title={trans.__('Write a rule so that such calls run without asking. You see the rule before it is written.')}
          onClick={() => {
            setProposing(true);
          }}
        >
          {trans.__('Always…')}
        </button>
      )}
      {drawRejectButton(next !== undefined)}
    </div>
  );
}

/**
 * Join what is remembered into one line. A command may have several lines, so each line break becomes the sign `↵`. The
 * names of the tools that users see most often are replaced by words.
 */
export function formatRemembered(remembers: readonly string[], trans: TranslationBundle): string {
  const words: Readonly<Record<string, string>> = {
    notebook_edit_cell: trans.__('edits of cells'),
    notebook_insert_cell: trans.__('new cells'),
    notebook_delete_cell: trans.__('deletions of cells'),
    notebook_move_cell: trans.__('moves of cells'),
    notebook_run_cells: trans.__('runs of cells'),
    notebook_create: trans.__('new notebooks'),
    run_code: trans.__('running code'),
    write_file: trans.__('writing files'),
    edit_file: trans.__('edits of files')
  };
  // Some of these texts consist of a tool and a place, for example `notebook_edit_cell in data.ipynb`.
  const described = remembers.map(scope => {
    const [, name = '', place = ''] = /^(\w+)( in [^]*)$/.exec(scope) ?? [];
    return Object.hasOwn(words, name) ? `${words[name] ?? ''}${place}` : scope;
  });
  return toExactText(described.join(', ').replace(/\s*\n\s*/g, ' ↵ '));
}

type RejectProps = Pick<DecisionActions, 'chatId' | 'onReject'> & {
  /** The id of the call. */
  readonly id: string;
  /** Shows the buttons again. */
  readonly onBack: () => void;
};

/** Draws the form for the reason of a rejection. */
function RejectForm({ chatId, id, onReject, onBack }: RejectProps): React.ReactElement {
  const { trans } = useEnv();
  const key = makeCallKey(chatId, id);
  const field = React.useRef<HTMLInputElement | null>(null);
  // The draft when the form was opened.
  const [firstDraft] = React.useState(draftReasons.get(key));
  const [reason, setReason] = React.useState(firstDraft?.reason ?? '');
  // React calls this without an element just before the field is removed from the page.
  const rememberFocus = React.useCallback(
    (input: HTMLInputElement | null) => {
      const draft = draftReasons.get(key);
      if (input === null && draft !== undefined) {
        draftReasons.set(key, { ...draft, focused: field.current === document.activeElement });
      }
      field.current = input;
    },
    [key]
  );
  const goBack = (): void => {
    draftReasons.delete(key);
    onBack();
  };
  return (
    <form
      className="eca-Approval"
      onSubmit={event => {
        event.preventDefault();
        onReject(id, reason.trim(), chatId);
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          goBack();
        }
      }}
    >
      <input
        ref={rememberFocus}
        className="eca-Input"
        autoFocus={firstDraft?.focused !== false}
        dir="auto"
        value={reason}
        aria-label={trans.__('Reason, sent to the assistant')}
        placeholder={trans.__('Why not? (optional, sent to the assistant)')}
        onChange={event => {
          draftReasons.set(key, { reason: event.target.value, focused: true });
          setReason(event.target.value);
        }}
      />
      <button type="submit" className="eca-Button eca-mod-danger">
        {trans.__('Reject')}
      </button>
      <button type="button" className="eca-Button" onClick={goBack}>
        {trans.__('Back')}
      </button>
    </form>
  );
}
