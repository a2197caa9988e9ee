/**
 * Draws the form for an agent that the user adds or changes.
 *
 * This module knows no session: `Agents.tsx` sends what the user has typed, and the server writes the file.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { AgentEntry, AgentsWriteParams } from '../wire/protocol';
import { toExactText } from '../render/format';
import { useEnv } from '../view/common/env';
import { GetField, NamedForm, readPlace } from './NamedForm';

interface Props {
  /** The agent that is changed; absent for a new one. Its name and its file stay the same. */
  readonly old?: AgentEntry;
  /** The names of the models that can be chosen. */
  readonly models: readonly string[];
  /** The names by which the known tools are selected. */
  readonly tools: readonly string[];
  /** Writes the agent. Returns the error message; empty when there was no error. */
  readonly onSubmit: (params: AgentsWriteParams) => Promise<string>;
  /** Closes the form. */
  readonly onCancel: () => void;
}

/** Matches a valid name. The name becomes the name of a file. */
const NAME_PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Who can use an agent: the user, other agents, or both. */
const MODES = ['primary', 'subagent', 'both'] as const;

/** Draws the form. */
export function AgentForm({ old, models, tools, onSubmit, onCancel }: Props): React.ReactElement {
  const { trans } = useEnv();
  const id = React.useId();
  const modes = {
    primary: trans.__('you'),
    subagent: trans.__('other agents'),
    both: trans.__('you and other agents')
  };
  return (
    <NamedForm
      label={old === undefined ? trans.__('A new agent') : trans.__('The agent %1', old.name)}
      oldName={old?.name}
      namePattern={NAME_PATTERN}
      nameError={trans.__(
        'The name may have only small letters, digits, hyphens and underscores, for example my-agent.'
      )}
      scopes={['workspace', 'global']}
      changeNote={trans.__(
        'The change is written to %1. What is not shown here stays.',
        toExactText(old?.files.at(-1) ?? '')
      )}
      submitLabel={old === undefined ? trans.__('Add the agent') : trans.__('Save the agent')}
      onSubmit={getField => onSubmit(readAgent(getField, old))}
      onCancel={onCancel}
    >
      <label>
        {trans.__('What it is for')}
        <input
          className="eca-Input"
          name="description"
          autoFocus={old !== undefined}
          defaultValue={old?.description}
          autoComplete="off"
        />
      </label>
      <label>
        {trans.__('Model (empty: the default model)')}
        <input
          className="eca-Input"
          name="model"
          list={`${id}-models`}
          defaultValue={old?.model}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <datalist id={`${id}-models`}>
        {models.map(model => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <label>
        {trans.__('Tools that it does not have (with commas between them)')}
        <input
          className="eca-Input"
          name="disabledTools"
          list={`${id}-tools`}
          defaultValue={old?.disabledTools.join(', ')}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <datalist id={`${id}-tools`}>
        {tools.map(tool => (
          <option key={tool} value={tool} />
        ))}
      </datalist>
      <fieldset>
        <legend>{trans.__('It is used by')}</legend>
        {MODES.map(mode => (
          <label key={mode}>
            <input type="radio" name="mode" value={mode} defaultChecked={mode === (old?.mode ?? 'primary')} />
            {modes[mode]}
          </label>
        ))}
      </fieldset>
      <label>
        {trans.__('System prompt (empty: that of the assistant)')}
        <textarea className="eca-Input" name="prompt" rows={8} defaultValue={old?.prompt} />
      </label>
    </NamedForm>
  );
}

/**
 * Return the agent that the fields of the form describe. `getField` returns the text of the field with a name. `old` is
 * the agent that is changed.
 */
export function readAgent(getField: GetField, old?: AgentEntry): AgentsWriteParams {
  const model = getField('model').trim();
  return {
    name: getField('name').trim(),
    mode: MODES.find(mode => mode === getField('mode')) ?? 'primary',
    description: getField('description').trim(),
    ...(model !== '' && { model }),
    prompt: getField('prompt'),
    disabledTools: getField('disabledTools')
      .split(/[\s,]+/)
      .filter(Boolean),
    ...readPlace(getField, old && { file: old.files.at(-1), digest: old.digest })
  };
}
