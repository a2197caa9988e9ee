/**
 * Shows the user's defaults in the settings: the models, the agent, and the budgets, which limit the costs. The section
 * of the approval rules uses this module to show the default `review`: whether edits need approval.
 *
 * The server writes a change to the user's own configuration file, and returns which file contains each value.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { ConfigDefaultsResult, ConfigSetDefaultParams, DefaultName, DefaultSetting } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { TextWithCode } from '../view/common/TextWithCode';

interface DefaultsProps {
  readonly session: Session;
  /** The names of the defaults that are shown; undefined for all except `review`. */
  readonly names?: readonly DefaultName[];
}

/** Fetches the defaults, and sends the changes of the user to the server. */
export function Defaults({ session, names = MODELS_AND_BUDGETS }: DefaultsProps): React.ReactElement {
  const { trans } = useEnv();
  const { models } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [result, setResult] = React.useState<ConfigDefaultsResult>();
  React.useEffect(() => {
    void session.requestOrShowError('config/defaults', {}).then(setResult);
  }, [session]);
  return result === undefined ? (
    <p className="eca-Note">{trans.__('Loading…')}</p>
  ) : (
    <DefaultList
      defaultsResult={{ ...result, defaults: result.defaults.filter(({ name }) => names.includes(name)) }}
      models={models}
      onSave={async params => {
        const result = await session.requestOrShowError('config/setDefault', params);
        if (result !== undefined) {
          setResult(result);
        }
        return result !== undefined;
      }}
    />
  );
}

interface ListProps {
  /** The defaults to show, as the server lists them. */
  readonly defaultsResult: ConfigDefaultsResult;
  /** The names of the models that can be chosen. */
  readonly models: readonly string[];
  /** Writes a default. Returns whether it was written. */
  readonly onSave: (params: ConfigSetDefaultParams) => Promise<boolean>;
}

/** The field of a `DefaultSetting` that contains the value. For example, a budget is in the field `dollars`. */
const FIELDS: Readonly<Record<DefaultName, 'model' | 'choice' | 'review' | 'dollars'>> = {
  defaultModel: 'model',
  defaultAgent: 'choice',
  'agent.code.variant': 'choice',
  'completion.model': 'model',
  review: 'review',
  'budget.perChat': 'dollars',
  'budget.perNotebook': 'dollars',
  'budget.perDay': 'dollars'
};
/** All defaults except `review`. */
const MODELS_AND_BUDGETS: readonly DefaultName[] = (Object.keys(FIELDS) as DefaultName[]).filter(
  name => name !== 'review'
);

/** Draws the defaults, each with a form of its own, and the notes above them. */
export function DefaultList({ defaultsResult: { defaults, file }, models, onSave }: ListProps): React.ReactElement {
  const { trans } = useEnv();
  // Without models, this is the list for the approval rules, which needs no notes about models.
  const hasModels = defaults.some(({ name }) => FIELDS[name] === 'model');
  return (
    <>
      <p className="eca-Note">
        {trans.__('Changes here are written to %1, and take effect at once.', file)}{' '}
        {hasModels && trans.__('The assistant sends no telemetry: its makers receive nothing from you.')}
      </p>
      {hasModels && (
        <p className="eca-Note">
          {trans.__(
            'A new chat begins with the model, the agent and the reasoning that you chose last in its notebook or, if you chose nothing there, in another one. A default counts where you have chosen nothing since you set it.'
          )}
        </p>
      )}
      {defaults.map(setting => (
        <DefaultForm key={setting.name} setting={setting} models={models} onSave={onSave} />
      ))}
    </>
  );
}

interface FormProps extends Omit<ListProps, 'defaultsResult'> {
  /** The default: its value, its file, and why it cannot be changed, if it cannot. */
  readonly setting: DefaultSetting;
}

/** Draws the form for one default: its field, a button that saves it, and the file that contains it. */
function DefaultForm({ setting, models, onSave }: FormProps): React.ReactElement {
  const { trans } = useEnv();
  // `own`: the user's own file decides about the value. `locked` and `limited` say why the user cannot change the
  // value, or cannot raise it beyond a limit.
  const { name, file, own, locked, limited } = setting;
  const field = FIELDS[name];
  const storedValue = String(setting[field] ?? '');
  const [text, setText] = React.useState(storedValue);
  const [isSaved, setSaved] = React.useState(false);
  /** The stored value when the form was last drawn. */
  const [lastStoredValue, setLastStoredValue] = React.useState(storedValue);
  if (storedValue !== lastStoredValue) {
    // A value that was saved, or has changed elsewhere, replaces what the field shows.
    setLastStoredValue(storedValue);
    setText(storedValue);
  }
  const id = React.useId();
  const labels: Readonly<Record<DefaultName, string>> = {
    defaultModel: trans.__('Default model'),
    defaultAgent: trans.__('Default agent'),
    'agent.code.variant': trans.__('Default reasoning of the agent “code”'),
    'completion.model': trans.__('Model of completions'),
    review: trans.__('Edits of cells and files'),
    'budget.perChat': trans.__('Budget of a chat, in US dollars'),
    'budget.perNotebook': trans.__('Budget of a notebook, in US dollars'),
    'budget.perDay': trans.__('Budget of a day, in US dollars')
  };
  // The texts for a default that is not set. They say what is used in its place.
  const unsetTexts: Readonly<Partial<Record<DefaultName, string>>> = {
    defaultModel: trans.__('the best that is set up'),
    'agent.code.variant': trans.__('the default of the model'),
    'completion.model': trans.__('the default model')
  };
  const listedChoices = field === 'model' ? models : setting.choices;
  // The stored value may be the name of a model that is not available now.
  const choices =
    storedValue === '' || listedChoices.includes(storedValue) ? listedChoices : [storedValue, ...listedChoices];
  const fieldProps = {
    id,
    value: text,
    disabled: locked !== undefined,
    'aria-describedby': `${id}-from`,
    onChange: (event: React.ChangeEvent<HTMLInputElement | HTMLSelectElement>) => {
      setSaved(false);
      setText(event.target.value);
    }
  };
  return (
    <form
      className="eca-Default"
      onSubmit={event => {
        event.preventDefault();
        // The button is disabled once the value is saved, and a disabled button loses the focus.
        document.getElementById(id)?.focus();
        // Without a value, the server removes the default.
        const value = text === '' ? {} : { [field]: field === 'dollars' ? Number(text) : text };
        void onSave({ name, ...value }).then(setSaved);
      }}
    >
      <label htmlFor={id}>{labels[name]}</label>
      {name === 'review' ? (
        <select {...fieldProps}>
          <option value="before">{trans.__('Ask me before each edit')}</option>
          <option value="after">{trans.__('Edit at once, I keep or undo')}</option>
          <option value="never">{trans.__('Edit at once, do not ask me')}</option>
        </select>
      ) : field !== 'dollars' ? (
        <select {...fieldProps}>
          {unsetTexts[name] !== undefined && <option value="">{unsetTexts[name]}</option>}
          {choices.map(choice => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...fieldProps}
          className="eca-Input"
          type="number"
          min="0"
          step="any"
          placeholder={trans.__('no limit')}
        />
      )}
      <button
        type="submit"
        className="eca-Button"
        disabled={text === storedValue || locked !== undefined}
        aria-label={trans.__('Save: %1', labels[name])}
      >
        {trans.__('Save')}
      </button>
      <span id={`${id}-from`} className="eca-Note">
        {locked !== undefined ? (
          <TextWithCode text={locked} />
        ) : file === undefined ? (
          trans.__('not set')
        ) : own ? (
          trans.__('set in %1', file)
        ) : (
          trans.__('set in %1, which comes before your own file', file)
        )}
        {limited !== undefined && (
          <>
            {' · '}
            <TextWithCode text={limited} />
          </>
        )}
      </span>
      <span role="status" className="eca-Note">
        {isSaved ? trans.__('Saved.') : ''}
      </span>
    </form>
  );
}
