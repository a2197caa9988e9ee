/** What a tool call was given and what came of it. Everything here is data: shown as text. */

import * as React from 'react';

import { ToolBlock } from '../blocks';
import { ShellCommandDetails, TaskDetails } from '../protocol';
import { plain } from '../text';
import { Diff } from './Diff';
import { useEnv } from './env';
import { Icon } from './Icon';
import { LongText } from './LongText';

export function ToolDetails({ block }: { readonly block: ToolBlock }): React.ReactElement {
  const { trans } = useEnv();
  // A change that was made says the same in its diff.
  const told = block.details?.type === 'fileChange' && block.status === 'done';
  const output = told ? '' : block.outputs.map(({ text }) => text).join('\n');
  return (
    <div className="eca-Tool-body">
      <Given block={block} />
      {output !== '' && (
        <div role="group" aria-label={trans.__('Result')} className="eca-Tool-result">
          <LongText text={output} />
        </div>
      )}
      <p className="eca-Tool-origin">
        {block.origin === 'mcp' ? trans.__('%1, from the MCP server %2', block.name, block.server) : block.name}
      </p>
    </div>
  );
}

/** The way that says most: a change as a diff, a command as a command, else the arguments. */
function Given({ block }: { readonly block: ToolBlock }): React.ReactElement {
  const { details } = block;
  switch (details?.type) {
    case 'fileChange':
      return (
        <>
          <p className="eca-Tool-path">
            {plain(details.path)} <span className="eca-mod-added">+{details.linesAdded}</span>{' '}
            <span className="eca-mod-removed">−{details.linesRemoved}</span>
          </p>
          <Diff diff={details.diff} />
        </>
      );
    case 'shellCommand':
      return <Commands details={details} />;
    case 'task':
      return <Plan details={details} />;
    case 'jsonOutputs':
      return (
        <>
          {details.jsons.map((json, index) => (
            <LongText key={index} text={pretty(json)} />
          ))}
        </>
      );
    default:
      return <Arguments block={block} />;
  }
}

function Arguments({ block }: { readonly block: ToolBlock }): React.ReactElement | null {
  if (block.arguments === undefined) {
    return block.argumentsText === '' ? null : <LongText text={block.argumentsText} />;
  }
  const given = Object.entries(block.arguments);
  return given.length === 0 ? null : (
    <dl className="eca-Arguments">
      {given.map(([name, value]) => (
        <Argument
          key={name}
          name={name}
          text={typeof value === 'string' ? value : JSON.stringify(value, undefined, 1)}
        />
      ))}
    </dl>
  );
}

/** What fits on the line of its name stands there. */
const SHORT = 60;

function Argument({ name, text }: { readonly name: string; readonly text: string }): React.ReactElement {
  const short = text.length <= SHORT && !text.includes('\n');
  return (
    <div className={short ? 'eca-mod-short' : undefined}>
      <dt>{plain(name)}</dt>
      <dd>{short ? plain(text) : <LongText text={text} />}</dd>
    </div>
  );
}

function Commands({ details }: { readonly details: ShellCommandDetails }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-Shell" role="group" aria-label={trans.__('Commands')}>
      {details.commands.map((part, index) => (
        <pre key={index} tabIndex={0}>
          <span className="eca-Shell-prompt" aria-hidden="true">
            ${' '}
          </span>
          {plain([part.command, ...part.args].join(' '))}
        </pre>
      ))}
    </div>
  );
}

function Plan({ details }: { readonly details: TaskDetails }): React.ReactElement {
  const { trans } = useEnv();
  const says = { pending: trans.__('to do'), 'in-progress': trans.__('under way'), done: trans.__('done') };
  return (
    <ul className="eca-Plan">
      {details.tasks.map(task => (
        <li key={task.id} className={`eca-mod-${task.status}`} aria-label={`${task.subject}: ${says[task.status]}`}>
          <Icon name={task.status === 'done' ? 'check' : task.status === 'pending' ? 'dot' : 'fold'} />
          <span dir="auto">{plain(task.subject)}</span>
        </li>
      ))}
    </ul>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}
