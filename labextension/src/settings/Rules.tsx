/**
 * The section of the settings with the approval rules, which say whether a call of a tool runs without a question,
 * needs approval, or is forbidden. Each rule is shown with the file that it comes from. The user's own rules can be
 * added and removed.
 *
 * The server applies and writes the rules. `view/tools/RuleProposal.tsx` proposes a rule for a call.
 */

import * as React from 'react';

import { ApprovalRule, ApprovalsListResult, DefaultName, ToolServerUpdatedParams } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { Defaults } from './Defaults';
import { NewRuleForm } from './NewRuleForm';
import { describeError } from '../view/common/error_text';

/** The default that is shown above the rules: whether edits need approval when no rule decides. */
const REVIEW: readonly DefaultName[] = ['review'];

/** Fetches the rules and shows them, and sends what the user adds or removes. */
export function Rules({ session }: { readonly session: Session }): React.ReactElement {
  const { trans, approvalRules } = useEnv();
  const { servers } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [listed, setListed] = React.useState<ApprovalsListResult>();
  const [adding, setAdding] = React.useState(false);
  /** What the user did last, in words; empty while nothing was done. */
  const [result, setResult] = React.useState('');
  const reload = React.useCallback(async () => {
    setListed(await session.requestOrShowError('approvals/list', {}));
  }, [session]);
  React.useEffect(() => {
    void reload();
    return approvalRules?.subscribe(() => void reload());
  }, [reload, approvalRules]);
  return listed === undefined ? (
    <p className="eca-Note">{trans.__('Loading…')}</p>
  ) : (
    <>
      <Defaults session={session} names={REVIEW} />
      <p className="eca-Note">
        {trans.__(
          'A rule for a tool counts more than this. What runs code, deletes something, or changes what may run without asking is asked about as before.'
        )}
      </p>
      {adding ? (
        <NewRuleForm
          rules={listed.rules}
          tools={listTools(Object.values(servers))}
          onAdd={async rule => {
            try {
              const { file } = await session.request('approvals/add', rule);
              setResult(trans.__('The rule was written to %1.', file));
            } catch (error) {
              return describeError(error, trans);
            }
            setAdding(false);
            await reload();
            return '';
          }}
          onCancel={() => {
            setAdding(false);
          }}
        />
      ) : (
        <button
          type="button"
          className="eca-Button eca-mod-main"
          onClick={() => {
            setResult('');
            setAdding(true);
          }}
        >
          {trans.__('Add a rule…')}
        </button>
      )}
      <p className="eca-Note" role="status">
        {result}
      </p>
      <RuleList
        listed={listed}
        onRemove={async ({ decision, rule, argsMatchers = {} }) => {
          const removed = await session.requestOrShowError('approvals/remove', { decision, rule, argsMatchers });
          setResult(removed === undefined ? '' : trans.__('The rule for %1 was removed.', rule));
          await reload();
        }}
      />
    </>
  );
}

/** Return the names by which rules select tools (`server__tool`), each with the names of the tool's arguments. */
export function listTools(servers: readonly ToolServerUpdatedParams[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    servers.flatMap(({ name, type, tools = [] }) =>
      tools.map(({ name: tool, parameters }) => [
        `${type === 'native' ? 'eca' : name}__${tool}`,
        Object.keys((parameters.properties ?? {}) as Readonly<Record<string, unknown>>)
      ])
    )
  );
}

interface Props {
  /** The rules, and what is done when no rule matches. */
  readonly listed: ApprovalsListResult;
  /** Removes one of the user's own rules. */
  readonly onRemove: (rule: ApprovalRule) => Promise<void>;
}

/** In the order in which the server reads the rules. */
const DECISIONS = ['deny', 'alwaysAsk', 'ask', 'allow'] as const;

/** The rules, in one section for each decision. Built-in rules come last. */
export function RuleList({ listed: { rules, byDefault }, onRemove }: Props): React.ReactElement {
  const { trans } = useEnv();
  const titles = {
    deny: trans.__('Forbidden'),
    alwaysAsk: trans.__('Needs approval each time'),
    ask: trans.__('Needs approval'),
    allow: trans.__('Runs without asking')
  };
  const defaults = {
    deny: trans.__('A call that no rule matches is forbidden.'),
    ask: trans.__('A call that no rule matches needs approval.'),
    allow: trans.__('A call that no rule matches runs without asking.')
  };
  return (
    <>
      <p className="eca-Note">
        {trans.__('The rules are read from top to bottom. The first rule that matches a call decides.')}{' '}
        {defaults[byDefault]}
      </p>
      {DECISIONS.map(decision => {
        const some = rules
          .filter(rule => rule.decision === decision)
          .sort((left, right) => Number(left.builtIn) - Number(right.builtIn));
        return (
          some.length > 0 && (
            <section key={decision}>
              <h2>{titles[decision]}</h2>
              <ul className="eca-Rules" aria-label={titles[decision]}>
                {some.map(rule => (
                  <Rule key={`${rule.agent ?? ''}:${rule.rule}`} rule={rule} onRemove={onRemove} />
                ))}
              </ul>
            </section>
          )
        );
      })}
    </>
  );
}

/** One rule: the tool, the patterns of its arguments, the file, and a button if the rule is the user's own. */
function Rule({ rule, onRemove }: { readonly rule: ApprovalRule } & Pick<Props, 'onRemove'>): React.ReactElement {
  const { trans } = useEnv();
  const matchers = Object.entries((rule.argsMatchers ?? {}) as Readonly<Record<string, readonly string[]>>);
  const from =
    rule.files.length > 0
      ? rule.files.join(', ')
      : rule.builtIn
        ? trans.__('built in')
        : trans.__('set when the server was started');
  return (
    <li>
      <code dir="auto">{rule.rule}</code>
      <span className="eca-Rules-when">
        {matchers.map(([name, patterns]) => (
          <span key={name} dir="auto">
            {name}: {patterns.map(pattern => (pattern === '' ? trans.__('(none)') : pattern)).join(' | ')}
          </span>
        ))}
      </span>
      <span className="eca-Rules-from">
        {rule.agent !== undefined && `${trans.__('agent %1', rule.agent)} · `}
        {from}
      </span>
      {rule.own && (
        <button
          type="button"
          className="eca-Button eca-mod-danger"
          aria-label={trans.__('Remove the rule %1', rule.rule)}
          onClick={() => void onRemove(rule)}
        >
          {trans.__('Remove')}
        </button>
      )}
    </li>
  );
}
