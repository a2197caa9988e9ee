/**
 * Shows the plan of a chat above the prompt box: the list of tasks that the model has written for itself. It also draws
 * the buttons for what the assistant has only proposed: a plan, in plan mode, or the outline of a notebook.
 *
 * This module knows no session: `App.tsx` passes the functions that the buttons call.
 */

import * as React from 'react';

import { Task, TaskDetails } from '../../wire/protocol';
import { toPlainText } from '../../render/format';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';

/** Draws the list of tasks in its newest state. The model changes the list while it works. */
export function Plan({ details }: { readonly details: TaskDetails }): React.ReactElement {
  const { trans } = useEnv();
  const { done, total } = details.summary;
  const activeTask = details.activeSummary ?? '';
  return (
    <details className="eca-PlanBar" open>
      <summary>
        <span className="eca-Fold">
          <Icon name="fold" />
        </span>
        {trans.__('Plan: %1 of %2', done, total)}
        {activeTask !== '' && <span dir="auto">{toPlainText(activeTask)}</span>}
      </summary>
      <Tasks tasks={details.tasks} />
    </details>
  );
}

/** Draws the tasks, each with an icon for its status. */
export function Tasks({ tasks }: { readonly tasks: readonly Task[] }): React.ReactElement {
  const { trans } = useEnv();
  const statusTexts = { pending: trans.__('to do'), 'in-progress': trans.__('in progress'), done: trans.__('done') };
  return (
    <ul className="eca-Plan">
      {/* The task in progress gets the arrow that other views show beside a block that can be opened. */}
      {tasks.map(({ id, subject, status }) => (
        <li key={id} className={`eca-mod-${status}`} aria-label={`${subject}: ${statusTexts[status]}`}>
          <Icon name={status === 'done' ? 'check' : status === 'pending' ? 'dot' : 'fold'} />
          <span dir="auto">{toPlainText(subject)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Draws the button that lets the assistant carry out a plan which it has only proposed. */
export function CarryOutButton({ onCarryOut }: { readonly onCarryOut: () => void }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-CarryOut" role="group" aria-label={trans.__('The plan')}>
      <button type="button" className="eca-Button eca-mod-main" onClick={onCarryOut}>
        {trans.__('Carry out')}
      </button>
      <small>{trans.__('Nothing was changed yet. You can also write what should be different.')}</small>
    </div>
  );
}

/** Draws the buttons that approve the outline of a notebook, or lead to the prompt box, for what should be different. */
export function OutlineDecision({
  onApprove,
  onChange
}: {
  readonly onApprove: () => void;
  readonly onChange: () => void;
}): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-CarryOut" role="group" aria-label={trans.__('The outline of the notebook')}>
      <button
        type="button"
        className="eca-Button eca-mod-main"
        title={trans.__('Let the assistant make this notebook')}
        onClick={onApprove}
      >
        {trans.__('Approve')}
      </button>
      <button
        type="button"
        className="eca-Button"
        title={trans.__('Write what should be different')}
        onClick={onChange}
      >
        {trans.__('Change…')}
      </button>
      <small>{trans.__('The notebook is not made yet.')}</small>
    </div>
  );
}
