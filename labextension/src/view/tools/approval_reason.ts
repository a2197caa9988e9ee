/**
 * Explains in words why a tool call ran, needed an approval or was forbidden. Pure.
 *
 * This module decides nothing: the server decides (`engine/approval/policy.py`), and sends the cause with the call.
 * Each kind of cause has one sentence here. The sentences contain no keys of the configuration.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { ToolBlock } from '../../chat/blocks';
import { toExactText } from '../../render/format';

/**
 * Whether such a call needs an approval each time: no approval is remembered for it, and no rule can allow it. The
 * causes are those of a warning, a command line that could not be parsed, and a rule that always asks.
 */
export function needsApprovalEachTime(block: ToolBlock): boolean {
  return hasWarning(block) || block.cause?.kind === 'unparsed' || block.cause?.kind === 'always';
}

/**
 * Whether the explanation is a warning, which the card of a waiting call shows even while its details are folded. The
 * call changes what may run without a question (`protected`), makes the page load something (`loads`), runs what was
 * changed without approval (`unseen`), or runs a program that a repository names (`repository`).
 */
export function hasWarning({ cause }: ToolBlock): boolean {
  return ['protected', 'loads', 'unseen', 'repository'].includes(cause?.kind ?? '');
}

/** Return the sentence that explains the decision about a call; empty when the server has sent no cause. */
export function explainDecision(
  { cause, asked, reason }: Pick<ToolBlock, 'cause' | 'asked' | 'reason'>,
  trans: TranslationBundle
): string {
  if (cause === undefined) {
    return '';
  }
  // The rule's selector of tools, which the user knows from the list of rules.
  const selector = cause.rule === undefined ? undefined : toExactText(cause.rule);
  const agent = toExactText(cause.agent ?? '');
  const isForbidden = reason === 'user-config';
  switch (cause.kind) {
    case 'rule': {
      const source =
        cause.notebook !== undefined
          ? trans.__('rule %1 of the notebook %2', selector, toExactText(cause.notebook))
          : agent === ''
            ? trans.__('rule %1', selector)
            : trans.__('rule %1 of the agent %2', selector, agent);
      return isForbidden
        ? trans.__('Forbidden by the %1', source)
        : asked === true
          ? trans.__('Asked: by the %1', source)
          : trans.__('Allowed by the %1', source);
    }
    case 'protected':
      return trans.__('This changes what may run without asking: %1', toExactText(cause.path ?? ''));
    case 'loads':
      return trans.__('As soon as the cell is shown, the page loads: %1', toExactText(cause.loads ?? ''));
    case 'always':
      return trans.__('Asked: the rule %1 asks each time', selector);
    case 'unparsed':
      return trans.__(
        'Asked: it is not certain what the command line runs, and the rule %1 limits some commands',
        selector
      );
    case 'unseen':
      return trans.__('This may run what was changed without your approval: %1', toExactText(cause.path ?? ''));
    case 'repository':
      return trans.__('This repository makes git run a program: %1', toExactText(cause.path ?? ''));
    case 'review':
      // Here the rule is the value of the setting `review`.
      return cause.rule === 'never'
        ? trans.__('Allowed: you want no question about changes')
        : trans.__('Allowed: you decide about changes after they are made');
    case 'changed':
      return trans.__('Asked: its server has changed this tool since you approved it for this session');
    case 'sandbox':
      return trans.__('Allowed: it runs in the sandbox');
    case 'remembered':
      return trans.__('Allowed: you approved it for this session');
    case 'unasked':
      return trans.__('Not asked: the agent %1 ran this by itself', agent);
    case 'trust':
      return selector === undefined
        ? trans.__('Allowed by trust: no rule allows it')
        : trans.__('Allowed by trust: the rule %1 would ask', selector);
    case 'default': {
      if (agent === '') {
        return isForbidden
          ? trans.__('Forbidden: no rule matches it, and such calls are forbidden')
          : asked === true
            ? trans.__('Asked: no rule matches it, and such calls need approval')
            : trans.__('Allowed: no rule matches it, and such calls run without asking');
      }
      return isForbidden
        ? trans.__('Forbidden: no rule matches it, and the agent %1 forbids such calls', agent)
        : asked === true
          ? trans.__('Asked: no rule matches it, and the agent %1 asks about such calls', agent)
          : trans.__('Allowed: no rule matches it, and the agent %1 allows such calls', agent);
    }
  }
}
