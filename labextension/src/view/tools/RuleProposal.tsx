/** The rule that "Always" would write, before it is; and afterwards that it was, with a way back. */

import * as React from 'react';

import { Always } from '../../chat/approval_rules';
import { ApprovalsProposeResult, RulePlace, RuleText } from '../../wire/protocol';
import { useEnv } from '../common/env';

/** As it stands in the file. */
export function ruleJson({ decision, rule, argsMatchers = {} }: RuleText): string {
  const matchers = Object.keys(argsMatchers).length > 0 ? { argsMatchers } : {};
  return JSON.stringify({ toolCall: { approval: { [decision]: { [rule]: matchers } } } }, undefined, 2);
}

interface FormProps {
  readonly id: string;
  readonly always: Always;
  readonly onBack: () => void;
}

export function AlwaysForm({ id, always, onBack }: FormProps): React.ReactElement {
  const { trans } = useEnv();
  const [found, setFound] = React.useState<ApprovalsProposeResult>();
  const [trouble, setTrouble] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const failed = (error: unknown): void => {
    setBusy(false);
    setTrouble(error instanceof Error ? error.message : String(error));
  };
  React.useEffect(() => {
    always.propose(id).then(setFound, failed);
  }, [always, id]);
  const write = (rule: RuleText, scope: RulePlace['scope']): void => {
    setBusy(true);
    always.write(id, rule, scope).catch(failed);
  };
  return (
    <Proposal
      found={found}
      trouble={trouble || (found?.why ?? '')}
      busy={busy}
      words={trans.__('This rule would be written:')}
      onWrite={write}
      onBack={onBack}
    />
  );
}

interface ProposalProps {
  readonly found: ApprovalsProposeResult | undefined;
  readonly trouble: string;
  readonly busy: boolean;
  readonly words: string;
  readonly onWrite: (rule: RuleText, scope: RulePlace['scope']) => void;
  readonly onBack: () => void;
}

export function Proposal({ found, trouble, busy, words, onWrite, onBack }: ProposalProps): React.ReactElement {
  const { trans } = useEnv();
  const [scope, setScope] = React.useState<RulePlace['scope']>();
  const rule = found?.rule;
  const places = found?.places ?? [];
  const chosen = scope ?? places[0]?.scope;
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
        <p className="eca-Note">{trouble || trans.__('Looking…')}</p>
      ) : (
        <>
          <p>{words}</p>
          <pre>{ruleJson(rule)}</pre>
          {trouble !== '' && (
            <p className="eca-Trouble" role="alert">
              {trouble}
            </p>
          )}
          <label className="eca-Always-place">
            {trans.__('Into')}{' '}
            <select
              value={chosen}
              disabled={places.length < 2}
              onChange={event => {
                setScope(event.target.value as RulePlace['scope']);
              }}
            >
              {places.map(place => (
                <option key={place.scope} value={place.scope}>
                  {place.scope === 'workspace'
                    ? trans.__('%1 (this workspace)', place.file)
                    : trans.__('%1 (everywhere)', place.file)}
                </option>
              ))}
            </select>
          </label>
        </>
      )}
      <div className="eca-Approval">
        {rule !== undefined && chosen !== undefined && (
          <button
            type="button"
            className="eca-Button eca-mod-main"
            autoFocus
            disabled={busy}
            onClick={() => {
              onWrite(rule, chosen);
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

const NONE = {};
const none = (): Readonly<Record<string, never>> => NONE;
const never = (): (() => void) => () => undefined;

export function AlwaysWritten({ id }: { readonly id: string }): React.ReactElement | null {
  const { trans, always } = useEnv();
  const all = React.useSyncExternalStore(always?.subscribe ?? never, always?.current ?? none, always?.current ?? none);
  const one = all[id];
  if (one === undefined) {
    return null;
  }
  return (
    <p className="eca-Always-written">
      <span>{trans.__('Rule %1 written to %2', one.rule.rule, one.file)}</span>{' '}
      <button type="button" className="eca-Link" onClick={() => void always?.undo(id)}>
        {trans.__('Undo')}
      </button>
    </p>
  );
}
