/**
 * Draws the form for a new approval rule. A rule decides whether calls of a tool run without a question, need approval,
 * or are forbidden. The form describes in words what the rule will do, before the rule is written.
 *
 * This module knows no session: `Rules.tsx` sends what the user has typed, and the server writes the rule.
 */

import * as React from 'react';

import { ApprovalRule, ApprovalsAddParams } from '../wire/protocol';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { TextWithCode } from '../view/common/TextWithCode';

/** The contents of the fields of the form. */
export interface RuleDraft {
  /** Whether such a call runs without asking, needs approval, or is forbidden. */
  readonly decision: ApprovalsAddParams['decision'];
  /** The name of an MCP server, `server__tool`, or the name of one of the assistant's own tools. */
  readonly tool: string;
  /** The name of an argument; empty for a rule on every call of the tool. */
  readonly argument: string;
  /** A regular expression for the whole value of the argument. */
  readonly pattern: string;
  /** Whether the rule is for this workspace or for all workspaces of the user. */
  readonly scope: NonNullable<ApprovalsAddParams['scope']>;
}

const EMPTY_DRAFT: RuleDraft = { decision: 'ask', tool: '', argument: '', pattern: '', scope: 'workspace' };

/**
 * Return the rule of a draft. Return undefined if the tool is missing, or only one of argument and pattern is given.
 */
export function toRule({ decision, tool, argument, pattern, scope }: RuleDraft): ApprovalsAddParams | undefined {
  const [rule, name] = [tool.trim(), argument.trim()];
  if (rule === '' || (name === '') !== (pattern === '')) {
    return undefined;
  }
  return { decision, rule, argsMatchers: name === '' ? {} : { [name]: [pattern] }, scope };
}

/**
 * Return the file that contains a rule for the same tool and the same decision already; undefined when there is none.
 * The server adds the new rule to this file, and ignores the scope of the rule.
 */
export function findFileOfRule(
  rules: readonly ApprovalRule[],
  { decision, rule }: ApprovalsAddParams
): string | undefined {
  const same = rules.filter(
    other => other.own && other.agent === undefined && other.decision === decision && other.rule === rule
  );
  return same.at(-1)?.files.at(-1);
}

interface Props {
  /** All existing rules. */
  readonly rules: readonly ApprovalRule[];
  /** The names of the known tools, each with the names of its arguments. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
  /** Writes the rule. Returns the error message; empty when it was written. */
  readonly onAdd: (rule: ApprovalsAddParams) => Promise<string>;
  /** Closes the form. */
  readonly onCancel: () => void;
}

/** Draws the form. It keeps the draft, and the error of the last attempt to write the rule. */
export function RuleEditor({ rules, tools, onAdd, onCancel }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [draft, setDraft] = React.useState(EMPTY_DRAFT);
  const [error, setError] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const id = React.useId();
  const rule = toRule(draft);
  const file = rule === undefined ? undefined : findFileOfRule(rules, rule);
  const decisions = {
    allow: trans.__('runs without asking'),
    ask: trans.__('needs approval'),
    alwaysAsk: trans.__('needs approval each time'),
    deny: trans.__('is forbidden')
  };
  const change = (fields: Partial<RuleDraft>): void => {
    setError('');
    setDraft(before => ({ ...before, ...fields }));
  };
  return (
    <form
      className="eca-Card eca-Form"
      aria-label={trans.__('A new rule')}
      onSubmit={event => {
        event.preventDefault();
        if (rule !== undefined) {
          setBusy(true);
          void onAdd(rule).then(message => {
            setBusy(false);
            setError(message);
          });
        }
      }}
    >
      <label>
        {trans.__('Tool')}
        <input
          className="eca-Input"
          required
          autoFocus
          autoComplete="off"
          list={`${id}-tools`}
          value={draft.tool}
          onChange={event => {
            change({ tool: event.target.value });
          }}
        />
      </label>
      <datalist id={`${id}-tools`}>
        {Object.keys(tools).map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label>
        {trans.__('Argument (empty: every call)')}
        <input
          className="eca-Input"
          autoComplete="off"
          list={`${id}-arguments`}
          value={draft.argument}
          onChange={event => {
            change({ argument: event.target.value });
          }}
        />
      </label>
      <datalist id={`${id}-arguments`}>
        {(tools[draft.tool] ?? []).map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label>
        {trans.__('Pattern (a regular expression for the whole value)')}
        <input
          className="eca-Input"
          autoComplete="off"
          spellCheck={false}
          value={draft.pattern}
          onChange={event => {
            change({ pattern: event.target.value });
          }}
        />
      </label>
      <fieldset>
        <legend>{trans.__('Such a call')}</legend>
        {(['allow', 'ask', 'deny'] as const).map(decision => (
          <label key={decision}>
            <input
              type="radio"
              name={`${id}-decision`}
              checked={draft.decision === decision}
              onChange={() => {
                change({ decision });
              }}
            />
            {decisions[decision]}
          </label>
        ))}
      </fieldset>
      {file !== undefined && (
        <p className="eca-Note">
          {trans.__('This file has a rule for the tool already. The new one is added to it: %1', toExactText(file))}
        </p>
      )}
      <label hidden={file !== undefined}>
        {trans.__('For')}
        <select
          value={draft.scope}
          onChange={event => {
            change({ scope: event.target.value === 'global' ? 'global' : 'workspace' });
          }}
        >
          <option value="workspace">{trans.__('this workspace')}</option>
          <option value="global">{trans.__('all your workspaces')}</option>
        </select>
      </label>
      <p className="eca-RuleForm-words" role="status">
        {rule === undefined ? (
          trans.__('Name a tool, and an argument with its pattern or neither.')
        ) : (
          <RuleDescription rule={rule} />
        )}
      </p>
      {error !== '' && (
        <p className="eca-Trouble" role="alert">
          <TextWithCode text={error} />
        </p>
      )}
      <div className="eca-Card-actions">
        <button type="submit" className="eca-Button eca-mod-main" disabled={busy || rule === undefined}>
          {trans.__('Add the rule')}
        </button>
        <button type="button" className="eca-Button" onClick={onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

/** Describes in words what a rule will do. The description is made from the rule that is sent to the server. */
export function RuleDescription({ rule }: { readonly rule: ApprovalsAddParams }): React.ReactElement {
  const { trans } = useEnv();
  const tool = toExactText(rule.rule);
  const matchers = Object.entries((rule.argsMatchers ?? {}) as Readonly<Record<string, readonly string[]>>);
  const calls =
    matchers.length === 0
      ? trans.__('Every call of %1', tool)
      : trans.__(
          'A call of %1 in which %2',
          tool,
          matchers
            .map(([name, patterns]) => trans.__('%1 matches %2', toExactText(name), toExactText(patterns.join(' | '))))
            .join(', ')
        );
  const effects = {
    allow: trans.__('%1 will run without asking, unless a rule that forbids it or asks comes first.', calls),
    ask: trans.__('%1 will need your approval, unless a rule forbids it.', calls),
    alwaysAsk: trans.__('%1 will need your approval each time, also with trust, unless a rule forbids it.', calls),
    deny: trans.__('%1 will be forbidden.', calls)
  };
  return <>{effects[rule.decision]}</>;
}
