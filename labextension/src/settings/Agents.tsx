/**
 * Shows the agents in the settings. An agent is a named set of settings for chats: a system prompt, a model, tools.
 * Each agent is shown with the file that defines it. The user can add agents, and try, change or delete their own ones.
 *
 * The server writes the files. `AgentForm.tsx` draws the form for an agent that is added or changed.
 */

import * as React from 'react';

import { AgentEntry, AgentsListResult } from '../wire/protocol';
import { Session } from '../chat/session';
import { toPlainText } from '../render/format';
import { useEnv } from '../view/common/env';
import { describeError } from '../view/common/error_text';
import { TextWithCode } from '../view/common/TextWithCode';
import { AgentForm } from './AgentForm';
import { FileLinks } from './FileLink';

interface AgentsProps {
  readonly session: Session;
  /** Opens a new chat with an agent. */
  readonly onTry: (agent: string) => void;
}

/** Fetches the agents and shows them, and sends what the user adds, changes or deletes. */
export function Agents({ session, onTry }: AgentsProps): React.ReactElement {
  const { trans, ownFiles } = useEnv();
  const { servers, models } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [list, setList] = React.useState<AgentsListResult>();
  /** The agent whose form is open, or `new`; undefined when no form is open. */
  const [edited, setEdited] = React.useState<AgentEntry | 'new'>();
  /** A sentence about the last change that the user has made here; empty when there was none. */
  const [lastAction, setLastAction] = React.useState('');
  const reload = React.useCallback(async () => {
    setList(await session.requestOrShowError('agents/list', {}));
  }, [session]);
  React.useEffect(() => {
    void reload();
    return ownFiles?.subscribe(() => void reload());
  }, [reload, ownFiles]);
  if (list === undefined) {
    return <p className="eca-Note">{trans.__('Loading…')}</p>;
  }
  // The names by which a configuration selects tools. `eca` stands for the server of the native tools.
  const tools = Object.values(servers).flatMap(({ name, type, tools = [] }) =>
    tools.map(tool => `${type === 'native' ? 'eca' : name}__${tool.name}`)
  );
  // `old`: the agent that is changed; undefined for a new one.
  const drawForm = (old?: AgentEntry): React.ReactElement => (
    <AgentForm
      {...(old && { old })}
      models={models}
      tools={tools}
      onSubmit={async params => {
        try {
          const { file } = await session.request('agents/write', params);
          setLastAction(trans.__('The agent was written to %1.', file));
        } catch (error) {
          return describeError(error, trans);
        }
        setEdited(undefined);
        await reload();
        return '';
      }}
      onCancel={() => {
        setEdited(undefined);
      }}
    />
  );
  return (
    <>
      <p className="eca-Note">
        {trans.__(
          'An agent is a system prompt with a model and tools. You choose one below the chat. The assistant can give tasks to those that other agents may use.'
        )}
      </p>
      {edited === 'new' ? (
        drawForm()
      ) : (
        <button
          type="button"
          className="eca-Button eca-mod-main"
          disabled={list.locked !== undefined}
          onClick={() => {
            setLastAction('');
            setEdited('new');
          }}
        >
          {trans.__('Add an agent…')}
        </button>
      )}
      {list.locked !== undefined && <p className="eca-Note">{list.locked}</p>}
      <p className="eca-Note" role="status">
        {lastAction}
      </p>
      <ul className="eca-Cards" aria-label={trans.__('Agents')}>
        {list.agents.map(agent => (
          <AgentCard
            key={`${agent.name} ${agent.files.join(' ')}`}
            agent={agent}
            onTry={onTry}
            onEdit={() => {
              setLastAction('');
              setEdited(agent);
            }}
            onDelete={async (file, digest) => {
              const deleted = await session.requestOrShowError('agents/remove', { file, digest });
              setLastAction(deleted === undefined ? '' : trans.__('The agent %1 was deleted.', agent.name));
              await reload();
            }}
          >
            {edited === agent ? drawForm(agent) : undefined}
          </AgentCard>
        ))}
      </ul>
    </>
  );
}

interface CardProps {
  readonly agent: AgentEntry;
  /** Opens a new chat with the agent. */
  readonly onTry: (agent: string) => void;
  /** Opens the form of the agent. */
  readonly onEdit: () => void;
  /** Deletes the file of the agent. */
  readonly onDelete: (file: string, digest: string) => Promise<void>;
  /** The form, while it is open. */
  readonly children?: React.ReactNode;
}

/** Draws the card of one agent. An agent can be changed and deleted if it has a Markdown file that is not locked. */
export function AgentCard({ agent, onTry, onEdit, onDelete, children }: CardProps): React.ReactElement {
  const { trans } = useEnv();
  const { name, origin, mode, description, model, files, digest, error, heldBack, locked } = agent;
  /** Whether the user has pressed *Delete* once. The second press deletes the file. */
  const [isConfirming, setConfirming] = React.useState(false);
  const origins = {
    builtIn: trans.__('built in'),
    user: trans.__('yours'),
    project: trans.__('of this workspace'),
    configuration: trans.__('in the configuration'),
    outside: trans.__('a program of its own')
  };
  const modes = {
    primary: trans.__('for you'),
    subagent: trans.__('for other agents'),
    both: trans.__('for you and other agents')
  };
  const file = files.at(-1);
  const mayChange = digest !== undefined && locked === undefined;
  return (
    <li className="eca-Card" aria-label={name}>
      <div className="eca-Card-head">
        <strong dir="auto">{name}</strong>
        <span className="eca-Badge">{origins[origin]}</span>
        <span className="eca-Note">{[modes[mode], model].filter(Boolean).join(' · ')}</span>
      </div>
      {description !== '' && <p dir="auto">{toPlainText(description)}</p>}
      {files.length > 0 && <FileLinks files={files} />}
      {error !== undefined && (
        <p className="eca-Trouble" dir="auto">
          <TextWithCode text={trans.__('This file is not used: %1.', toPlainText(error))} />
        </p>
      )}
      {heldBack && <p className="eca-Note">{trans.__('It takes effect when you trust the folder.')}</p>}
      {digest !== undefined && locked !== undefined && <p className="eca-Note">{locked}</p>}
      {children ?? (
        <div className="eca-Card-actions">
          {mode !== 'subagent' && error === undefined && !heldBack && (
            <button
              type="button"
              className="eca-Button"
              aria-label={trans.__('Try the agent %1', name)}
              title={trans.__('Open a new chat with this agent')}
              onClick={() => {
                onTry(name);
              }}
            >
              {trans.__('Try it')}
            </button>
          )}
          {mayChange && error === undefined && (
            <button
              type="button"
              className="eca-Button"
              aria-label={trans.__('Edit the agent %1', name)}
              onClick={onEdit}
            >
              {trans.__('Edit…')}
            </button>
          )}
          {mayChange && file !== undefined && (
            <button
              type="button"
              className="eca-Button eca-mod-danger"
              title={trans.__('Delete the file %1', file)}
              onClick={() => {
                if (isConfirming) {
                  void onDelete(file, digest);
                }
                setConfirming(!isConfirming);
              }}
            >
              {isConfirming ? trans.__('Delete the file permanently') : trans.__('Delete')}
            </button>
          )}
          {isConfirming && (
            <button
              type="button"
              className="eca-Button"
              onClick={() => {
                setConfirming(false);
              }}
            >
              {trans.__('Cancel')}
            </button>
          )}
        </div>
      )}
    </li>
  );
}
