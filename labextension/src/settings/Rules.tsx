/**
 * Shows the approval rules in the settings. A rule decides whether a call of a tool runs without a question, needs
 * approval, or is forbidden. Each rule is shown with the file that contains it. The user can add rules, and change
 * or remove their own ones.
 *
 * The server applies and writes the rules. `view/tools/RuleProposal.tsx` proposes a rule for a call.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { ApprovalRule, ApprovalsListResult, DefaultName, RuleText, ToolServerUpdatedParams } from '../wire/protocol';
import { Session } from '../chat/session';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { Defaults } from './Defaults';
import { FileLinks } from './FileLink';
import { RuleEditor } from './RuleEditor';
import { describeError } from '../view/common/error_text';

/** The default that is shown above the rules: whether edits need approval when no rule decides. */
const REVIEW_DEFAULT: readonly DefaultName[] = ['review'];

/** Fetches the rules and shows them, and sends what the user adds or removes. */
export function Rules({ session }: { readonly session: Session }): React.ReactElement {
  const { trans, approvalRules, ownFiles, findNotebook } = useEnv();
  const { servers } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [rulesResult, setRulesResult] = React.useState<ApprovalsListResult>();
  const [isAdding, setAdding] = React.useState(false);
  /** The key of the rule whose form is open; empty when no form is open. */
  const [editedRule, setEditedRule] = React.useState('');
  /** A sentence about the last change that the user has made here; empty when there was none. */
  const [lastAction, setLastAction] = React.useState('');
  const reload = React.useCallback(async () => {
    setRulesResult(await session.requestOrShowError('approvals/list', {}));
  }, [session]);
  React.useEffect(() => {
    void reload();
    const endFunctions = [approvalRules, ownFiles].map(source => source?.subscribe(() => void reload()));
    return () => {
      endFunctions.forEach(end => end?.());
    };
  }, [reload, approvalRules, ownFiles]);
  return rulesResult === undefined ? (
    <p className="eca-Note">{trans.__('Loading…')}</p>
  ) : (
    <>
      <Defaults session={session} names={REVIEW_DEFAULT} />
      <p className="eca-Note">
        {trans.__(
          'A rule for a tool counts more than this. What runs code, deletes something, or changes what may run without asking is asked about as before.'
        )}
      </p>
      {isAdding ? (
        <RuleEditor
          rules={rulesResult.rules}
          tools={listTools(Object.values(servers))}
          notebook={findNotebook?.()}
          onTry={rule => session.request('approvals/try', rule)}
          onSubmit={async rule => {
            try {
              const { file } = await session.request('approvals/add', rule);
              setLastAction(
                rule.notebook === undefined
                  ? trans.__('The rule was written to %1.', file)
                  : trans.__('The rule was added for %1.', file)
              );
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
            setLastAction('');
            setEditedRule('');
            setAdding(true);
          }}
        >
          {trans.__('Add a rule…')}
        </button>
      )}
      <p className="eca-Note" role="status">
        {lastAction}
      </p>
      <RuleList
        rulesResult={rulesResult}
        editedRule={editedRule}
        onEdit={rule => {
          setLastAction('');
          setAdding(false);
          setEditedRule(makeRuleKey(rule));
        }}
        renderForm={old => (
          <RuleEditor
            old={old}
            rules={rulesResult.rules}
            tools={listTools(Object.values(servers))}
            onTry={rule => session.request('approvals/try', { ...rule, old: toRuleText(old) })}
            onSubmit={async ({ decision, rule, argsMatchers = {} }) => {
              try {
                const { file } = await session.request('approvals/replace', {
                  decision,
                  rule,
                  argsMatchers,
                  old: toRuleText(old)
                });
                setLastAction(trans.__('The rule was written to %1.', file));
              } catch (error) {
                return describeError(error, trans);
              }
              setEditedRule('');
              await reload();
              return '';
            }}
            onCancel={() => {
              setEditedRule('');
            }}
          />
        )}
        onRemove={async rule => {
          const removed = await session.requestOrShowError('approvals/remove', toRuleText(rule));
          setLastAction(removed === undefined ? '' : trans.__('The rule for %1 was removed.', rule.rule));
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
  /** The rules, and the decision that is made when no rule matches. */
  readonly rulesResult: ApprovalsListResult;
  /** The key (made by `makeRuleKey`) of the rule whose form is drawn in its place; empty for none. */
  readonly editedRule?: string;
  /** Opens the form of one of the user's own rules. */
  readonly onEdit: (rule: ApprovalRule) => void;
  /** Draws the form of a rule. */
  readonly renderForm?: (rule: ApprovalRule) => React.ReactNode;
  /** Removes one of the user's own rules. */
  readonly onRemove: (rule: ApprovalRule) => Promise<void>;
}

/** Return what identifies a rule for the server. */
function toRuleText({ decision, rule, argsMatchers = {}, notebook }: ApprovalRule): RuleText {
  return { decision, rule, argsMatchers, ...(notebook !== undefined && { notebook }) };
}

/** Return a key that only this rule has. A file may have several rules for a tool, with other patterns. */
export function makeRuleKey({ agent = '', notebook = '', decision, rule, argsMatchers = {} }: ApprovalRule): string {
  return JSON.stringify([agent, notebook, decision, rule, argsMatchers]);
}

/** The decisions, in the order in which the server reads their rules. */
const DECISIONS = ['deny', 'alwaysAsk', 'ask', 'allow'] as const;

/** Draws the rules, in one section for each decision. Built-in rules come last. */
export function RuleList({
  rulesResult: { rules, byDefault },
  editedRule = '',
  renderForm,
  ...actions
}: Props): React.ReactElement {
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
        const matchingRules = rules
          .filter(rule => rule.decision === decision)
          .sort((left, right) => Number(left.builtIn) - Number(right.builtIn));
        return (
          matchingRules.length > 0 && (
            <section key={decision}>
              <h2>{titles[decision]}</h2>
              <ul className="eca-Rules" aria-label={titles[decision]}>
                {matchingRules.map(rule => {
                  const key = makeRuleKey(rule);
                  return rule.own && key === editedRule && renderForm !== undefined ? (
                    <li key={key} className="eca-mod-form">
                      {renderForm(rule)}
                    </li>
                  ) : (
                    <RuleItem key={key} rule={rule} {...actions} />
                  );
                })}
              </ul>
            </section>
          )
        );
      })}
    </>
  );
}

/** Draws one rule: the tool, the patterns of its arguments, the file, and buttons if the rule is the user's own. */
function RuleItem({
  rule,
  onEdit,
  onRemove
}: { readonly rule: ApprovalRule } & Pick<Props, 'onEdit' | 'onRemove'>): React.ReactElement {
  const { trans } = useEnv();
  const matchers = Object.entries((rule.argsMatchers ?? {}) as Readonly<Record<string, readonly string[]>>);
  const origin =
    rule.notebook !== undefined ? (
      trans.__('only in %1', toExactText(rule.notebook))
    ) : rule.files.length > 0 ? (
      <FileLinks files={rule.files} />
    ) : rule.builtIn ? (
      trans.__('built in')
    ) : (
      trans.__('set when the server was started')
    );
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
        {origin}
      </span>
      {rule.own && (
        <>
          <button
            type="button"
            className="eca-Button"
            aria-label={trans.__('Edit the rule %1', rule.rule)}
            onClick={() => {
              onEdit(rule);
            }}
          >
            {trans.__('Edit…')}
          </button>
          <button
            type="button"
            className="eca-Button eca-mod-danger"
            aria-label={trans.__('Remove the rule %1', rule.rule)}
            onClick={() => void onRemove(rule)}
          >
            {trans.__('Remove')}
          </button>
        </>
      )}
    </li>
  );
}
