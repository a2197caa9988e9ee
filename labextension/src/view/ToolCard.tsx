/** One tool call: a line that says what and how it went, the rest unfolded on demand. */

import * as React from 'react';

import { ToolBlock, ToolStatus } from '../blocks';
import { duration, plain } from '../text';
import { Approval, Decide } from './Approval';
import { useEnv } from './env';
import { Icon, IconName } from './Icon';
import { Progress } from './Progress';
import { ToolDetails } from './ToolDetails';

interface Props extends Decide {
  readonly block: ToolBlock;
}

const ICON: Readonly<Partial<Record<ToolStatus, IconName>>> = {
  waiting: 'question',
  done: 'check',
  failed: 'alert',
  rejected: 'cross',
  ended: 'cross'
};

export const ToolCard = React.memo(function ToolCard({ block, onApprove, onReject }: Props): React.ReactElement {
  const { trans } = useEnv();
  const waiting = block.status === 'waiting';
  // What is to be decided about is open; whoever folds or unfolds it is not overruled afterwards.
  const [chosen, setChosen] = React.useState<boolean>();
  const open = chosen ?? (waiting || block.details?.type === 'task');
  const status = useStatus(block);
  const icon = ICON[block.status];
  return (
    <section
      className={`eca-Tool eca-mod-${block.status}`}
      aria-label={trans.__('Tool call %1: %2', block.name, status)}
      data-status={block.status}
    >
      <button
        type="button"
        className="eca-Tool-head"
        aria-expanded={open}
        onClick={() => {
          setChosen(!open);
        }}
      >
        <span className="eca-Tool-icon">
          {icon === undefined ? <span className="eca-Spinner" /> : <Icon name={icon} />}
        </span>
        <span className="eca-Tool-title" dir="auto">
          {plain(block.summary ?? block.name)}
        </span>
        <span className="eca-Tool-status">{status}</span>
        <span className={`eca-Fold${open ? ' eca-mod-open' : ''}`}>
          <Icon name="fold" />
        </span>
      </button>
      {block.progress !== undefined && <Progress {...block.progress} />}
      {open && <ToolDetails block={block} />}
      {waiting && <Approval id={block.id} onApprove={onApprove} onReject={onReject} />}
    </section>
  );
});

function useStatus({ status, ms, reason, details }: ToolBlock): string {
  const { trans } = useEnv();
  switch (status) {
    case 'preparing':
      return trans.__('preparing');
    case 'ready':
      return trans.__('allowed');
    case 'waiting':
      return trans.__('needs approval');
    case 'running':
      return details?.type === 'subagent' ? trans.__('running, step %1', details.step) : trans.__('running');
    case 'done':
      return ms ? duration(ms) : trans.__('done');
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
          return trans.__('nobody was there to approve');
        default:
          return trans.__('rejected');
      }
  }
}
