/**
 * Shows the pickers for the agent, the model and the variant of the next turn.
 *
 * This module knows no session: `App.tsx` passes the choice on.
 */

import * as React from 'react';

import { Selection } from '../../chat/state';
import { useEnv } from '../common/env';

interface Props {
  readonly selection: Selection;
  readonly models: readonly string[];
  readonly agents: readonly string[];
  readonly onChoose: (selection: Partial<Selection>) => void;
}

export function Pickers({ selection, models, agents, onChoose }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-Pickers">
      {agents.length > 1 && (
        <Picker
          name={trans.__('Agent')}
          value={selection.agent}
          options={agents}
          onChange={agent => {
            onChoose({ agent });
          }}
        />
      )}
      {models.length > 0 && (
        <Picker
          name={trans.__('Model')}
          value={selection.model}
          options={models}
          onChange={model => {
            onChoose({ model, variant: '' });
          }}
        />
      )}
      {selection.variants.length > 0 && (
        <Picker
          name={trans.__('Reasoning')}
          value={selection.variant}
          options={['', ...selection.variants]}
          onChange={variant => {
            onChoose({ variant });
          }}
        />
      )}
    </div>
  );
}

interface PickerProps {
  readonly name: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}

/** A menu with one value chosen. It is a `select` of the browser, which works with every keyboard and screen reader. */
function Picker({ name, value, options, onChange }: PickerProps): React.ReactElement {
  const { trans } = useEnv();
  const all = options.includes(value) ? options : [value, ...options];
  // There is only room for the name without the provider. The list has the full name.
  const shown = value.slice(value.lastIndexOf('/') + 1) || trans.__('default');
  return (
    <label className="eca-Picker" title={`${name}: ${value || trans.__('default')}`}>
      <span aria-hidden="true">{shown}</span>
      <select
        aria-label={name}
        value={value}
        onChange={event => {
          onChange(event.target.value);
        }}
      >
        {all.map(option => (
          <option key={option} value={option}>
            {option || trans.__('default')}
          </option>
        ))}
      </select>
    </label>
  );
}
