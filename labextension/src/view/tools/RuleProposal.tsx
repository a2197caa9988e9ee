/**
 * Shows the approval rule that the button *Always…* would write, before it is written. Afterwards it shows a note with
 * the button *Undo*. An approval rule is an entry of the configuration that allows such calls without a question.
 *
 * The server proposes the rule; see `chat/approval_rules.ts`.
 */

import * as React from 'react';

import { ApprovalRules, makeCallKey } from '../../chat/approval_rules';
import { ApprovalsProposeResult, ChatId, RulePlace, RuleText } from '../../wire/protocol';
import { toExactText } from '../../render/format';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { describeError } from '../common/error_text';

/** Return the rule as JSON, in the form in which it is written to the configuration file. */
export function formatRule({ decision, rule, argsMatchers = {} }: RuleText): string {
  const matchers = Object.keys(argsMatchers).length > 0 ? { argsMatchers } : {};
  return JSON.stringify({ toolCall: { approval: { [decision]: { [rule]: matchers } } } }, undefined, 2);
}

interface FormProps {
  /** The chat of the call. */
  readonly chatId: ChatId;
  /** The id of the call. */
  readonly id: string;
  readonly approvalRules: ApprovalRules;
  /** Called when the user wants no rule. */
  readonly onBack: () => void;
}

/** Asks the server for a rule for a call, shows it, and writes it when the user agrees. */
export function RuleForm({ chatId, id, approvalRules, onBack }: FormProps): React.ReactElement {
  const { trans } = useEnv();
  const [proposal, setProposal] = React.useState<ApprovalsProposeResult>();
  const [error, setError] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const showError = (error: unknown): void => {
    setBusy(false);
    setError(describeError(error, trans));
  };
  React.useEffect(() => {
    approvalRules.propose(chatId, id).then(setProposal, showError);
  }, [approvalRules, chatId, id]);
  const write = (rule: RuleText, place: RulePlace): void => {
    setBusy(true);
    approvalRules.addAndApprove(chatId, id, rule, place).catch(showError);
  };
  return (
    <RuleProposal
      proposal={proposal}
      error={error || (proposal?.why ?? '')}
      busy={busy}
      heading={trans.__('This rule would be written:')}
      onWrite={write}
      onBack={onBack}
    />
  );
}

interface ProposalProps {
  /** The rule, and the files to which it can be written; undefined until the server has answered. */
  readonly proposal: ApprovalsProposeResult | undefined;
  /** Why there is no rule, or why it was not written; empty when there is no error. */
  readonly error: string;
  /** Whether the rule is being written. */
  readonly busy: boolean;
  /** The line above the rule. */
  readonly heading: string;
  /** Called with the rule, and the place that it is written to. */
  readonly onWrite: (rule: RuleText, place: RulePlace) => void;
  /** Called when the user wants no rule. */
  readonly onBack: () => void;
}

/** Draws the rule, the choice of the place, and the buttons. */
export function RuleProposal({ proposal, error, busy, heading, onWrite, onBack }: ProposalProps): React.ReactElement {
  const { trans } = useEnv();
  /** The scope that the user has chosen; undefined until then. */
  const [scope, setScope] = React.useState<RulePlace['scope']>();
  const rule = proposal?.rule;
  const places = proposal?.places ?? [];
  const chosenPlace = places.find(place => place.scope === scope) ?? places[0];
  const placeNames = {
    notebook: (file: string) => trans.__('%1 (this notebook)', file),
    workspace: (file: string) => trans.__('%1 (this workspace)', file),
    global: (file: string) => trans.__('%1 (everywhere)', file)
  };
  return (
    <div
      className="eca-Always"
      role="group"
      aria-label={trans.__('A rule for such calls')}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onBack();
        }
      }}
    >
      {rule === undefined ? (
        <p className="eca-Note">{error || trans.__('Loading…')}</p>
      ) : (
        <>
          <p>{heading}</p>
          <pre>{toExactText(formatRule(rule))}</pre>
          {error !== '' && (
            <p className="eca-Trouble" role="alert">
              {error}
            </p>
          )}
          <label className="eca-Always-place">
            {trans.__('Write to')}{' '}
            <select
              value={chosenPlace?.scope}
              disabled={places.length < 2}
              onChange={event => {
                setScope(event.target.value as RulePlace['scope']);
              }}
            >
              {places.map(place => (
                <option key={place.scope} value={place.scope}>
                  {placeNames[place.scope](toExactText(place.file))}
                </option>
              ))}
            </select>
          </label>
        </>
      )}
      <div className="eca-Approval">
        {rule !== undefined && chosenPlace !== undefined && (
          <button
            type="button"
            className="eca-Button eca-mod-main"
            autoFocus
            disabled={busy}
            onClick={() => {
              onWrite(rule, chosenPlace);
            }}
          >
            {trans.__('Write the rule and run')}
          </button>
        )}
        <button type="button" className="eca-Button" onClick={onBack}>
          {trans.__('Back')}
        </button>
      </div>
    </div>
  );
}

// These are used in pages in which no rules can be written. React needs the same object each time.
const NO_RULES = {};
const getNoRules = (): Readonly<Record<string, never>> => NO_RULES;
const subscribeToNothing = (): (() => void) => () => undefined;

interface NoteProps {
  /** The chat of the call. */
  readonly chatId: ChatId;
  /** The id of the call. */
  readonly id: string;
}

/** Draws a note that a rule was written for a call; nothing when no rule was written. */
export function WrittenRuleNote({ chatId, id }: NoteProps): React.ReactElement | null {
  const { trans, approvalRules } = useEnv();
  const writtenRules = React.useSyncExternalStore(
    approvalRules?.subscribe ?? subscribeToNothing,
    approvalRules?.current ?? getNoRules,
    approvalRules?.current ?? getNoRules
  );
  const written = writtenRules[makeCallKey(chatId, id)];
  if (written === undefined) {
    return null;
  }
  return (
    <p className="eca-Always-written">
      <span>{trans.__('Rule %1 written to %2', toExactText(written.rule.rule), toExactText(written.file))}</span>{' '}
      <button type="button" className="eca-Link" onClick={() => void approvalRules?.remove(chatId, id)}>
        {trans.__('Undo')}
      </button>
    </p>
  );
}
