/**
 * Shows the pickers for the agent, the model and the variant of the next turn. A picker is a button that opens a list.
 * A variant is a way in which the model works, for example how much it reasons. An outside agent has no such models and
 * variants. It has options of its own, and each of them gets a picker.
 *
 * This module knows no session: `App.tsx` sends the choice to the server.
 */

import * as React from 'react';

import { Selection } from '../../chat/state';
import { AgentOption } from '../../wire/protocol';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';

/** Names the pickers that other parts of the panel can open. */
type PickerMark = 'model' | 'agent';

interface Props {
  /** Gets the element around the pickers. `openPicker` needs it. */
  readonly frame: React.RefObject<HTMLDivElement>;
  /** The agent, the model and the variant that are chosen now. */
  readonly selection: Selection;
  /** The names of the models that can be chosen. */
  readonly models: readonly string[];
  /** The names of the agents that can be chosen. */
  readonly agents: readonly string[];
  /** The names of the agents that choose their model themselves. */
  readonly outsideAgents: readonly string[];
  /** The options of the outside agent of the chat. */
  readonly agentOptions: readonly AgentOption[];
  /** The values of options that the user has chosen and the agent has not confirmed yet, by the ids of the options. */
  readonly chosenOptions: Readonly<Record<string, string>>;
  /** Called with the id and the value of an option that the user has chosen. */
  readonly onChooseOption: (option: string, value: string) => void;
  /** Called with the agent, the model or the variant that the user has chosen. */
  readonly onChoose: (selection: Partial<Selection>) => void;
}

/** Give the focus to the picker of the model or the agent, and open its list where the browser allows that. */
export function openPicker(frame: HTMLDivElement | null, mark: PickerMark): void {
  const picker = frame?.querySelector<HTMLSelectElement>(`[data-eca-picker=${mark}]`);
  picker?.focus();
  try {
    picker?.showPicker();
  } catch {
    // Some browsers open a list only right after a click. The focus is enough: a key opens it.
  }
}

/** Draws the pickers. A picker without a choice is not shown. */
export function Pickers(props: Props): React.ReactElement {
  const { frame, selection, models, agents, outsideAgents, agentOptions, chosenOptions, onChooseOption, onChoose } =
    props;
  const { trans, openSettings } = useEnv();
  const usesOurModels = !outsideAgents.includes(selection.agent);
  const options = usesOurModels ? [] : agentOptions.filter(option => option.canChoose && option.values.length > 1);
  return (
    <div className="eca-Pickers" ref={frame}>
      {agents.length > 1 && (
        <Picker
          name={trans.__('Agent')}
          mark="agent"
          value={selection.agent}
          options={agents}
          onChange={agent => {
            onChoose({ agent });
          }}
        />
      )}
      {usesOurModels && models.length > 0 && (
        <Picker
          name={trans.__('Model')}
          mark="model"
          value={selection.model}
          options={models}
          {...(openSettings !== undefined && {
            extra: {
              text: trans.__('Other models and keys…'),
              open: () => {
                openSettings('providers');
              }
            }
          })}
          onChange={model => {
            onChoose({ model, variant: '' });
          }}
        />
      )}
      {usesOurModels && selection.variants.length > 0 && (
        <Picker
          name={trans.__('Reasoning')}
          value={selection.variant}
          options={['', ...selection.variants]}
          onChange={variant => {
            onChoose({ variant });
          }}
        />
      )}
      {options.map(option => (
        <Picker
          key={option.id}
          name={option.name}
          value={chosenOptions[option.id] ?? option.value}
          isPending={option.id in chosenOptions}
          options={option.values.map(({ value }) => value)}
          labels={new Map(option.values.map(({ value, name }) => [value, name]))}
          isSwitch={option.isSwitch}
          onChange={value => {
            onChooseOption(option.id, value);
          }}
        />
      ))}
    </div>
  );
}

interface PickerProps {
  /** The name of the picker, for example `Model`. */
  readonly name: string;
  /** The value of the attribute `data-eca-picker`, by which `openPicker` finds the picker. */
  readonly mark?: PickerMark;
  /** The chosen value; empty for the default. */
  readonly value: string;
  /** The values that can be chosen. */
  readonly options: readonly string[];
  /** The names of the values for the user. A value without one is shown itself. */
  readonly labels?: ReadonlyMap<string, string>;
  /** Whether the agent has not taken the chosen value yet. */
  readonly isPending?: boolean;
  /** Whether the values are on and off. They are shown with the name of the picker, as in "Search the web: on". */
  readonly isSwitch?: boolean;
  /** A last entry, which opens something else and changes no value. */
  readonly extra?: { readonly text: string; readonly open: () => void };
  /** Called with the value that the user chooses. */
  readonly onChange: (value: string) => void;
}

/** The value of the entry `extra`. No model has it. */
const EXTRA = '\0extra';

/** Draws one picker. It is a `select` of the browser, which works with every keyboard and screen reader. */
function Picker(props: PickerProps): React.ReactElement {
  const { name, mark, value, options, labels, isPending = false, isSwitch = false, extra, onChange } = props;
  const { trans } = useEnv();
  // The chosen value is in the list even when it cannot be chosen any more.
  const allOptions = options.includes(value) ? options : [value, ...options];
  const describe = (option: string): string => (labels?.get(option) ?? option) || trans.__('default');
  const addName = (text: string): string => `${name}: ${text}`;
  // There is only room for the name without the provider. The list has the full name.
  const shortName = labels?.has(value) ? describe(value) : describe(value.slice(value.lastIndexOf('/') + 1));
  const title = addName(describe(value));
  return (
    <label className={isPending ? 'eca-Picker eca-mod-waiting' : 'eca-Picker'}>
      <span aria-hidden="true">{isSwitch ? addName(shortName) : shortName}</span>
      <select
        aria-label={name}
        aria-busy={isPending}
        title={isPending ? trans.__('%1 (the agent has not taken this yet)', title) : title}
        data-eca-picker={mark}
        value={value}
        onChange={event => {
          if (event.target.value === EXTRA) {
            // React does not draw the `select` again, because its value does not change.
            event.target.value = value;
            extra?.open();
          } else {
            onChange(event.target.value);
          }
        }}
      >
        {allOptions.map(option => (
          <option key={option} value={option}>
            {isSwitch ? addName(describe(option)) : describe(option)}
          </option>
        ))}
        {extra !== undefined && <option value={EXTRA}>{extra.text}</option>}
      </select>
    </label>
  );
}
