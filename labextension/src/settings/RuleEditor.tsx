/**
 * Draws the form for an approval rule that the user adds or changes. A rule decides whether calls of a tool run without
 * a question, need approval, or are forbidden. The form describes in words what the rule will do, before the rule is
 * written.
 *
 * This module knows no session: `Rules.tsx` sends what the user has typed, and the server writes the rule.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { ApprovalRule, ApprovalsAddParams, ApprovalsTryResult, RulePlace, RuleText } from '../wire/protocol';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { TextWithCode } from '../view/common/TextWithCode';
import { nameDecisions, RuleTrial } from './RuleTrial';

/** A line of the form: an argument, and a pattern for it. Several patterns for an argument are alternatives. */
export interface MatcherDraft {
  /** The name of an argument; empty for a rule on every call of the tool. */
  readonly argument: string;
  /** A regular expression for the whole value of the argument. */
  readonly pattern: string;
}

/** The contents of the fields of the form. */
export interface RuleDraft {
  /** Whether such a call runs without asking, needs approval, or is forbidden. */
  readonly decision: ApprovalsAddParams['decision'];
  /** The name of an MCP server, `server__tool`, or the name of one of the assistant's own tools. */
  readonly tool: string;
  /** The arguments that the rule compares. There is at least one line, which may be empty. */
  readonly matchers: readonly MatcherDraft[];
  /** Whether the rule is for the notebook in front, for this workspace, or for all workspaces of the user. */
  readonly scope: RulePlace['scope'];
}

/** A line of the form in which the user has typed nothing. */
const EMPTY_MATCHER: MatcherDraft = { argument: '', pattern: '' };
/** The draft of a new rule, before the user has typed anything. */
const EMPTY_DRAFT: RuleDraft = { decision: 'ask', tool: '', matchers: [EMPTY_MATCHER], scope: 'workspace' };

/** The patterns for each argument, by the names of the arguments. */
type Matchers = Readonly<Record<string, readonly string[]>>;

/** Return the draft of an existing rule, or of a new one. */
export function toDraft(rule: ApprovalRule | undefined): RuleDraft {
  if (rule === undefined) {
    return EMPTY_DRAFT;
  }
  const matchers = Object.entries((rule.argsMatchers ?? {}) as Matchers).flatMap(([argument, patterns]) =>
    patterns.map(pattern => ({ argument, pattern }))
  );
  return {
    ...EMPTY_DRAFT,
    decision: rule.decision,
    tool: rule.rule,
    matchers: matchers.length === 0 ? [EMPTY_MATCHER] : matchers
  };
}

/**
 * Return the rule of a draft. Return undefined if the tool is missing, or a line has only one of argument and pattern.
 *
 * `old` is the rule that is changed. An empty pattern matches an argument without a value. It is accepted only if `old`
 * has an empty pattern for the argument. Otherwise the user has forgotten the pattern. `notebook` is the path of the
 * notebook in front.
 */
export function toRule(
  { decision, tool, matchers, scope }: RuleDraft,
  old?: ApprovalRule,
  notebook?: string
): ApprovalsAddParams | undefined {
  const rule = tool.trim();
  const before = (old?.argsMatchers ?? {}) as Partial<Matchers>;
  const argsMatchers: Record<string, readonly string[]> = {};
  for (const { argument, pattern } of matchers) {
    const name = argument.trim();
    if (name === '' && pattern === '') {
      continue;
    }
    if (name === '' || (pattern === '' && before[name]?.includes('') !== true)) {
      return undefined;
    }
    argsMatchers[name] = [...new Set([...(argsMatchers[name] ?? []), pattern])];
  }
  if (rule === '') {
    return undefined;
  }
  const text = { decision, rule, argsMatchers };
  return scope !== 'notebook' ? { ...text, scope } : notebook === undefined ? undefined : { ...text, notebook };
}

/**
 * Return the file that contains a rule for the same tool and the same decision already; undefined when there is none.
 * The server adds the new rule to this file, and ignores the scope of the rule.
 */
export function findFileOfRule(
  rules: readonly ApprovalRule[],
  { decision, rule, notebook }: ApprovalsAddParams
): string | undefined {
  if (notebook !== undefined) {
    return undefined;
  }
  const sameRules = rules.filter(
    other =>
      other.own &&
      other.agent === undefined &&
      other.notebook === undefined &&
      other.decision === decision &&
      other.rule === rule
  );
  return sameRules.at(-1)?.files.at(-1);
}

interface Props {
  /** The rule that is changed; absent for a new one. It stays in its file. */
  readonly old?: ApprovalRule;
  /** All existing rules. */
  readonly rules: readonly ApprovalRule[];
  /** The names of the known tools, each with the names of its arguments. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
  /** The path of the notebook in front, for which a new rule can be added; undefined when there is none. */
  readonly notebook?: string | undefined;
  /** Tries the rule on earlier calls. It throws the errors of the server. */
  readonly onTry: (rule: RuleText) => Promise<ApprovalsTryResult>;
  /** Writes the rule. Returns the error message; empty when it was written. */
  readonly onSubmit: (rule: ApprovalsAddParams) => Promise<string>;
  /** Closes the form. */
  readonly onCancel: () => void;
}

/** Draws the form. It keeps the draft, and the error of the last attempt to write the rule. */
export function RuleEditor({ old, rules, tools, notebook, onTry, onSubmit, onCancel }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [draft, setDraft] = React.useState(() => toDraft(old));
  const [error, setError] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const id = React.useId();
  const rule = toRule(draft, old, notebook);
  /** The notebook that the rule is for. A changed rule stays in its notebook. */
  const ruleNotebook = old?.notebook ?? rule?.notebook;
  const file = rule === undefined || old !== undefined ? undefined : findFileOfRule(rules, rule);
  const decisions = nameDecisions(trans);
  const changeDraft = (fields: Partial<RuleDraft>): void => {
    setError('');
    setDraft(before => ({ ...before, ...fields }));
  };
  const changeMatcher = (index: number, fields: Partial<MatcherDraft>): void => {
    changeDraft({
      matchers: draft.matchers.map((line, position) => (position === index ? { ...line, ...fields } : line))
    });
  };
  // A new rule has one of the first three. The fourth is for a rule that has it already.
  const choices = (['allow', 'ask', 'deny', 'alwaysAsk'] as const).filter(
    decision => decision !== 'alwaysAsk' || old?.decision === decision
  );
  return (
    <form
      className="eca-Card eca-Form"
      aria-label={old === undefined ? trans.__('A new rule') : trans.__('The rule %1', old.rule)}
      onSubmit={event => {
        event.preventDefault();
        if (rule !== undefined) {
          setBusy(true);
          void onSubmit(rule).then(message => {
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
            changeDraft({ tool: event.target.value });
          }}
        />
      </label>
      <datalist id={`${id}-tools`}>
        {Object.keys(tools).map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {draft.matchers.map(({ argument, pattern }, index) => (
        <React.Fragment key={index}>
          <label>
            {index === 0 ? trans.__('Argument (empty: every call)') : trans.__('Argument %1', index + 1)}
            <input
              className="eca-Input"
              autoComplete="off"
              list={`${id}-arguments`}
              value={argument}
              onChange={event => {
                changeMatcher(index, { argument: event.target.value });
              }}
            />
          </label>
          <label>
            {index === 0
              ? trans.__('Pattern (a regular expression for the whole value)')
              : trans.__('Pattern %1', index + 1)}
            <input
              className="eca-Input"
              autoComplete="off"
              spellCheck={false}
              value={pattern}
              onChange={event => {
                changeMatcher(index, { pattern: event.target.value });
              }}
            />
          </label>
        </React.Fragment>
      ))}
      <datalist id={`${id}-arguments`}>
        {(tools[draft.tool] ?? []).map(name => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {old !== undefined && (
        <button
          type="button"
          className="eca-Button"
          onClick={() => {
            changeDraft({ matchers: [...draft.matchers, EMPTY_MATCHER] });
          }}
        >
          {trans.__('Another argument or pattern')}
        </button>
      )}
      <fieldset>
        <legend>{trans.__('Such a call')}</legend>
        {choices.map(decision => (
          <label key={decision}>
            <input
              type="radio"
              name={`${id}-decision`}
              checked={draft.decision === decision}
              onChange={() => {
                changeDraft({ decision });
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
      {ruleNotebook !== undefined ? (
        <p className="eca-Note">
          {trans.__('The rule is only for what is asked in this notebook: %1', toExactText(ruleNotebook))}
        </p>
      ) : (
        old !== undefined && (
          <p className="eca-Note">
            {trans.__('The change is written to the file that has the rule: %1', toExactText(old.files.at(-1) ?? ''))}
          </p>
        )
      )}
      <label hidden={old !== undefined || (file !== undefined && notebook === undefined)}>
        {trans.__('For')}
        <select
          value={draft.scope}
          onChange={event => {
            changeDraft({ scope: event.target.value as RuleDraft['scope'] });
          }}
        >
          {notebook !== undefined && (
            <option value="notebook">{trans.__('the notebook %1', toExactText(notebook))}</option>
          )}
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
      <RuleTrial
        // The result is that of one rule: it is gone as soon as the rule changes.
        key={JSON.stringify(rule)}
        onTry={
          rule && (() => onTry({ ...toText(rule), ...(ruleNotebook !== undefined && { notebook: ruleNotebook }) }))
        }
      />
      {error !== '' && (
        <p className="eca-Trouble" role="alert">
          <TextWithCode text={error} />
        </p>
      )}
      <div className="eca-Card-actions">
        <button type="submit" className="eca-Button eca-mod-main" disabled={busy || rule === undefined}>
          {old === undefined ? trans.__('Add the rule') : trans.__('Save the rule')}
        </button>
        <button type="button" className="eca-Button" onClick={onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

/** Return the rule without its place. */
function toText({ decision, rule, argsMatchers = {} }: ApprovalsAddParams): RuleText {
  return { decision, rule, argsMatchers };
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
