/**
 * Shows the agents in the settings. An agent is a named set of settings for chats: a system prompt, a model, tools.
 * Each agent is shown with the file that defines it. The user can add agents, and try, change or delete their own ones.
 *
 * `OwnFilesList.tsx` draws the list, and `AgentForm.tsx` the form for an agent that is added or changed.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { AgentEntry } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { AgentForm } from './AgentForm';
import { OwnFileCard, OwnFilesList, OwnFilesListing } from './OwnFilesList';

interface AgentsProps {
  readonly session: Session;
  /** Opens a new chat with an agent. */
  readonly onTry: (agent: string) => void;
}

/** Fetches the agents and shows them, and sends what the user adds, changes or deletes. */
export function Agents({ session, onTry }: AgentsProps): React.ReactElement {
  const { trans } = useEnv();
  const { servers, models } = React.useSyncExternalStore(session.subscribe, () => session.state);
  // The names by which a configuration selects tools. `eca` stands for the server of the native tools.
  const tools = Object.values(servers).flatMap(({ name, type, tools = [] }) =>
    tools.map(tool => `${type === 'native' ? 'eca' : name}__${tool.name}`)
  );
  return (
    <OwnFilesList
      session={session}
      intro={trans.__(
        'An agent is a system prompt with a model and tools. You choose one below the chat. The assistant can give tasks to those that other agents may use.'
      )}
      addLabel={trans.__('Add an agent…')}
      listLabel={trans.__('Agents')}
      fetchListing={fetchAgents}
      drawForm={({ submit, cancel }, old) => (
        <AgentForm
          {...(old && { old })}
          models={models}
          tools={tools}
          onSubmit={params =>
            submit(async () => {
              const { file } = await session.request('agents/write', params);
              return trans.__('The agent was written to %1.', file);
            })
          }
          onCancel={cancel}
        />
      )}
      drawCard={(agent, { form, edit, change }) => (
        <AgentCard
          key={`${agent.name} ${agent.files.join(' ')}`}
          agent={agent}
          onTry={onTry}
          onEdit={edit}
          onDelete={(file, digest) =>
            change(async () => {
              const deleted = await session.requestOrShowError('agents/remove', { file, digest });
              return deleted === undefined ? '' : trans.__('The agent %1 was deleted.', agent.name);
            })
          }
        >
          {form}
        </AgentCard>
      )}
    />
  );
}

/** Fetch the agents; undefined if that failed. */
async function fetchAgents(session: Session): Promise<OwnFilesListing<AgentEntry> | undefined> {
  const result = await session.requestOrShowError('agents/list', {});
  return result && { entries: result.agents, locked: result.locked };
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
  // `heldBack`: the agent has no effect until the user trusts its folder. `locked` says why its file cannot be changed.
  const { name, origin, mode, description, model, files, digest, error, heldBack, locked } = agent;
  const modes = {
    primary: trans.__('for you'),
    subagent: trans.__('for other agents'),
    both: trans.__('for you and other agents')
  };
  const file = files.at(-1);
  const mayChange = digest !== undefined && locked === undefined;
  return (
    <OwnFileCard
      name={name}
      origin={origin}
      summary={[modes[mode], model].filter(Boolean).join(' · ')}
      description={description}
      files={files}
      error={error}
      notes={[heldBack && trans.__('It takes effect when you trust the folder.'), digest !== undefined && locked]}
      buttons={
        mode !== 'subagent' &&
        error === undefined &&
        !heldBack && (
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
        )
      }
      editLabel={trans.__('Edit the agent %1', name)}
      onEdit={mayChange && error === undefined ? onEdit : undefined}
      deletedFile={mayChange ? file : undefined}
      onDelete={() => {
        if (file !== undefined && digest !== undefined) {
          void onDelete(file, digest);
        }
      }}
      form={children}
    />
  );
}
