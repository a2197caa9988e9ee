/** Whether a tool call may run. A reason for "no" goes to the model. */

import * as React from 'react';

import { useEnv } from './env';

export interface Decide {
  /** Nobody waits for the call any more: it goes on as a job. */
  readonly onBackground: (id: string) => void;
  readonly onApprove: (id: string, session: boolean) => void;
  readonly onReject: (id: string, reason: string) => void;
}

export function Approval({
  id,
  onApprove,
  onReject
}: Omit<Decide, 'onBackground'> & { readonly id: string }): React.ReactElement {
  const { trans } = useEnv();
  const [rejecting, setRejecting] = React.useState(false);
  const [reason, setReason] = React.useState('');
  if (rejecting) {
    return (
      <form
        className="eca-Approval"
        onSubmit={event => {
          event.preventDefault();
          onReject(id, reason.trim());
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            event.stopPropagation();
            setRejecting(false);
          }
        }}
      >
        <input
          className="eca-Input"
          autoFocus
          dir="auto"
          value={reason}
          aria-label={trans.__('Reason, told to the assistant')}
          placeholder={trans.__('Why not? The assistant is told (optional)')}
          onChange={event => {
            setReason(event.target.value);
          }}
        />
        <button type="submit" className="eca-Button eca-mod-danger">
          {trans.__('Reject')}
        </button>
        <button
          type="button"
          className="eca-Button"
          onClick={() => {
            setRejecting(false);
          }}
        >
          {trans.__('Back')}
        </button>
      </form>
    );
  }
  return (
    <div className="eca-Approval" role="group" aria-label={trans.__('May this run?')}>
      <button
        type="button"
        className="eca-Button eca-mod-main"
        onClick={() => {
          onApprove(id, false);
        }}
      >
        {trans.__('Approve')}
      </button>
      <button
        type="button"
        className="eca-Button"
        title={trans.__('Do not ask again for this tool until the server ends')}
        onClick={() => {
          onApprove(id, true);
        }}
      >
        {trans.__('Approve for session')}
      </button>
      <button
        type="button"
        className="eca-Button"
        onClick={() => {
          setRejecting(true);
        }}
      >
        {trans.__('Reject…')}
      </button>
    </div>
  );
}
