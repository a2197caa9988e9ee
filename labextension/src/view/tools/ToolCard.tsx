/**
 * Shows a tool call as a card: a line with what the call does and its status. The user can unfold the details. While
 * the call waits for a decision, what would run is always shown, whether the details are folded or not.
 *
 * This module decides what a card shows. `ToolDetails.tsx` draws the details, `Approval.tsx` the buttons for a
 * decision.
 */

import * as React from 'react';

import { makeCallKey } from '../../chat/approval_rules';
import { countParts, ToolBlock, ToolStatus } from '../../chat/blocks';
import { formatDuration, toExactText, toPlainText } from '../../render/format';
import { createElement } from '../common/element';
import { WrittenRuleNote } from './RuleProposal';
import { Approval, draftReasons, DecisionActions } from './Approval';
import { useEnv } from '../common/env';
import { describeCall, summarizeCall } from './describe_call';
import { explainDecision, hasWarning, needsApprovalEachTime } from './approval_reason';
import { Icon, IconName } from '../common/Icon';
import { ChatPeople, formatName } from '../common/people';
import { CallProgress } from './CallProgress';
import { ObstacleNote } from './ObstacleNote';
import { ToolDetails } from './ToolDetails';

interface Props extends DecisionActions {
  /** The tool call. */
  readonly block: ToolBlock;
  /** Whether a call of the subagent within the card waits for a decision. */
  readonly hasWaitingCall?: boolean;
  /** The transcript of the subagent that the call has started. It is shown while the card is unfolded. */
  readonly children?: React.ReactNode;
}

/** The icons of the statuses. In a status without an icon the call has not ended, and a spinner is shown. */
const ICONS: Readonly<Partial<Record<ToolStatus, IconName>>> = {
  waiting: 'question',
  done: 'check',
  failed: 'alert',
  rejected: 'cross',
  ended: 'cross'
};

/** The tools that only preview a change. Their cards are unfolded, because the diff is their only result. */
const PREVIEWS: ReadonlySet<string> = new Set(['preview_file_change', 'preview_notebook_change']);

/** Whether a call only proposes a change and does not make it. In plan mode, calls that change something do not run. */
function isProposal({ name, reason }: ToolBlock): boolean {
  return reason === 'plan-mode' || PREVIEWS.has(name);
}

/** Draws the card of one tool call. */
export const ToolCard = React.memo(function ToolCard({
  block,
  hasWaitingCall = false,
  children,
  chatId,
  onApprove,
  onReject,
  onBackground
}: Props): React.ReactElement {
  const { trans, findCell = () => undefined, findKernel = () => undefined } = useEnv();
  const waiting = block.status === 'waiting';
  React.useEffect(() => {
    if (!waiting) {
      draftReasons.delete(makeCallKey(chatId, block.id));
    }
  }, [waiting, chatId, block.id]);
  /** Whether the user has unfolded or folded the details; undefined until then, when the card decides. */
  const [isUnfolded, setUnfolded] = React.useState<boolean>();
  const open = isUnfolded ?? (hasWaitingCall || (isProposal(block) && block.details !== undefined));
  // The card of a finished `task` call is small, because the list of tasks is shown above the prompt box.
  const isTaskList = block.details?.type === 'task' && block.status === 'done';
  const statusText = useStatusText(block);
  // An outside agent may run a call without asking (`unasked`). The card says so even while its details are folded.
  const status = block.cause?.kind === 'unasked' ? trans.__('%1, not asked', statusText) : statusText;
  // How many parts of the change would be made, if the user has left out some of them; else undefined.
  const parts = countParts(block);
  const icon = ICONS[block.status];
  const decision = useDecisionText(block);
  return (
    <section
      className={`eca-Tool eca-mod-${block.status}${isTaskList ? ' eca-mod-listed' : ''}`}
      aria-label={trans.__('Tool call %1: %2', toExactText(block.name), status)}
      data-status={block.status}
      data-call={makeCallKey(chatId, block.id)}
    >
      <button
        type="button"
        className="eca-Tool-head"
        aria-expanded={open}
        onClick={() => {
          setUnfolded(!open);
        }}
      >
        <span className="eca-Tool-icon">
          {icon === undefined ? <span className="eca-Spinner" /> : <Icon name={icon} />}
        </span>
        <span className="eca-Tool-title" dir="auto">
          {waiting ? describeCall(block, { findCell, findKernel }, trans) : summarizeCall(block, findCell)}
        </span>
        <span className="eca-Tool-status">{status}</span>
        <span className={`eca-Fold${open ? ' eca-mod-open' : ''}`}>
          <Icon name="fold" />
        </span>
      </button>
      {decision !== undefined && (
        <p className="eca-Tool-by" title={block.by?.username} dir="auto">
          {decision}
        </p>
      )}
      {block.progress !== undefined && (
        <CallProgress chatId={chatId} id={block.id} {...block.progress} onBackground={onBackground} />
      )}
      {(open || waiting) && <ToolDetails block={block} hasTranscript={Boolean(children)} onlyArguments={!open} />}
      {(open || hasWaitingCall) && children}
      {waiting && hasWarning(block) && <p className="eca-Tool-warning">{explainDecision(block, trans)}</p>}
      {waiting && <ObstacleNote block={block} chatId={chatId} onReject={onReject} />}
      <WrittenRuleNote chatId={chatId} id={block.id} />
      {waiting && (
        <Approval
          chatId={chatId}
          id={block.id}
          remembers={parts === undefined ? block.remembers : undefined}
          canHaveRule={parts === undefined && !needsApprovalEachTime(block)}
          parts={parts}
          onApprove={onApprove}
          onReject={onReject}
        />
      )}
    </section>
  );
});

/** Return a text that says who has approved or rejected a call; undefined where no names are shown. */
function useDecisionText({ by, reason }: ToolBlock): string | undefined {
  const { trans } = useEnv();
  const people = React.useContext(ChatPeople);
  if (people === undefined || by === undefined) {
    return undefined;
  }
  // The reason that the server sends when a person has rejected the call. Otherwise a person has approved it.
  const isRejected = reason === 'user-choice';
  if (by.username === people.viewer) {
    return isRejected ? trans.__('Rejected by you') : trans.__('Approved by you');
  }
  const name = formatName(people, by);
  return isRejected ? trans.__('Rejected by %1', name) : trans.__('Approved by %1', name);
}

/** Return the status of a call in words. */
function useStatusText({ status, ms, reason, details, waitsFor }: ToolBlock): string {
  const { trans } = useEnv();
  switch (status) {
    case 'preparing':
      return trans.__('preparing');
    case 'ready':
      return waitsFor === undefined ? trans.__('allowed') : trans.__('allowed, waits for: %1', toPlainText(waitsFor));
    case 'waiting':
      return waitsFor === undefined
        ? trans.__('needs approval')
        : trans.__('needs approval, would run after: %1', toPlainText(waitsFor));
    case 'running':
      return details?.type === 'subagent' ? trans.__('running, step %1', details.step) : trans.__('running');
    case 'done':
      return ms ? formatDuration(ms) : trans.__('done');
    case 'failed':
      return trans.__('failed');
    case 'ended':
      return trans.__('not run');
    case 'rejected':
      switch (reason) {
        case 'user-config':
          return trans.__('forbidden by your rules');
        case 'user-stop':
          return trans.__('stopped');
        case 'nobody-to-ask':
          return trans.__('not run: it needs approval, and nobody is there to give it');
        case 'hook-rejected':
          return trans.__('forbidden by a hook');
        case 'earlier-call-failed':
          return trans.__('not run: an earlier call failed or was rejected');
        case 'plan-mode':
          return trans.__('proposed, not run: plan mode');
        default:
          return trans.__('rejected');
      }
  }
}
