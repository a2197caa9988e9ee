/**
 * Shows the background jobs in the settings: their status, their output, and a button that stops them. A background job
 * is a shell command that the assistant has started, and that runs while the chat continues.
 *
 * The server runs the jobs. This view only sends requests.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { Job, JobsReadOutputResult, JobStatus } from '../wire/protocol';
import { Session } from '../chat/session';
import { toPlainText } from '../render/format';
import { useEnv } from '../view/common/env';
import { Toggle } from '../view/common/Toggle';

/** The pause, in milliseconds, after which the output of a running job is read again while it is shown. */
const REREAD_MS = 2000;

/** Fetches the list of jobs and shows it. The server sends the list again whenever a job has changed. */
export function Jobs({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  const { jobs } = React.useSyncExternalStore(session.subscribe, () => session.state);
  React.useEffect(() => {
    void session.requestOrShowError('jobs/list', {}).then(params => {
      if (params !== undefined) {
        session.dispatch({ type: 'notification', method: 'jobs/updated', params });
      }
    });
  }, [session]);
  const read = React.useCallback(
    (jobId: string) => session.requestOrShowError('jobs/readOutput', { jobId }),
    [session]
  );
  return (
    <>
      {jobs.length === 0 && (
        <p className="eca-Note">{trans.__('No background job has run since the server started.')}</p>
      )}
      <ul className="eca-Cards">
        {jobs.map(job => (
          <JobCard
            key={job.id}
            job={job}
            readOutput={read}
            onKill={() => void session.requestOrShowError('jobs/kill', { jobId: job.id })}
          />
        ))}
      </ul>
    </>
  );
}

interface Props {
  readonly job: Job;
  /** Fetches the output of a job; undefined when that failed. */
  readonly readOutput: (id: string) => Promise<JobsReadOutputResult | undefined>;
  /** Stops the job. */
  readonly onKill: () => void;
}

/** Draws the card of one job. Its output is shown when the user opens it. */
export function JobCard({ job, readOutput, onKill }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [open, setOpen] = React.useState(false);
  const statusTexts: Readonly<Record<JobStatus, string>> = {
    running: trans.__('running'),
    completed: trans.__('done'),
    failed: trans.__('failed'),
    killed: trans.__('stopped by you')
  };
  return (
    <li className="eca-Card" aria-label={job.label}>
      <div className="eca-Card-head">
        <code dir="auto">{toPlainText(job.label)}</code>
        <span className={`eca-Badge eca-mod-${job.status}`}>{statusTexts[job.status]}</span>
        <span className="eca-Note">{job.elapsed}</span>
        {job.exitCode !== undefined && <span className="eca-Note">{trans.__('exit code %1', job.exitCode)}</span>}
        {job.chatLabel !== undefined && (
          <span className="eca-Note" dir="auto">
            {job.chatLabel}
          </span>
        )}
      </div>
      <div className="eca-Card-actions">
        <Toggle
          open={open}
          onClick={() => {
            setOpen(!open);
          }}
        >
          {trans.__('Output')}
        </Toggle>
        {job.status === 'running' && (
          <button type="button" className="eca-Button eca-mod-danger" onClick={onKill}>
            {trans.__('Stop the job')}
          </button>
        )}
      </div>
      {open && <JobOutput id={job.id} status={job.status} readOutput={readOutput} />}
    </li>
  );
}

interface OutputProps extends Pick<Props, 'readOutput'> {
  /** The id of the job. */
  readonly id: string;
  readonly status: JobStatus;
}

/** Draws the output of a job. While the job runs, the output is read again at intervals. */
function JobOutput({ id, status, readOutput }: OutputProps): React.ReactElement {
  const { trans } = useEnv();
  const [text, setText] = React.useState<string>();
  React.useEffect(() => {
    const loadOutput = (): void =>
      void readOutput(id).then(result => {
        setText(result?.lines.map(line => toPlainText(line.text)).join('\n'));
      });
    loadOutput();
    if (status === 'running') {
      const timer = window.setInterval(loadOutput, REREAD_MS);
      return () => {
        window.clearInterval(timer);
      };
    }
    return undefined;
  }, [id, status, readOutput]);
  return (
    <div className="eca-Log">
      <pre tabIndex={0} aria-label={trans.__('Output')}>
        {text === undefined ? trans.__('Loading…') : text || trans.__('Nothing yet.')}
      </pre>
    </div>
  );
}
