/**
 * Draws the first steps of a user who has set up no model: three buttons (sign in, paste a key, try the small model),
 * and what each button opens. The small model runs inside Jupyter without a key.
 *
 * A pasted key is only in its field until it is sent, and never in the state of a view. When it is sent, the field is
 * emptied. `first_steps.ts` sends the requests to the server.
 */

import * as React from 'react';

import { createElement } from '../common/element';
import { FirstSteps, guessProvider, KeyResult, listKeyProviders, listSignInProviders } from './first_steps';
import { formatCount } from '../../render/format';
import { BundledModel, ProviderStatus } from '../../wire/protocol';
import { useEnv } from '../common/env';
import { TextWithCode } from '../common/TextWithCode';
import { Login } from './Login';

interface Props {
  /** The providers of models. */
  readonly providers: readonly ProviderStatus[];
  /** The small model; undefined when the server has none. */
  readonly bundled: BundledModel | undefined;
  /** Sends the requests to the server. */
  readonly steps: Pick<FirstSteps, 'loadProviders' | 'signIn' | 'sendInput' | 'useKey' | 'tryKey'>;
  /** All error messages of the server, the newest last. */
  readonly errors: readonly string[];
  /** Called with true when the user opens a step with a button, and with false when the user goes back. */
  readonly onOpen: (open: boolean) => void;
  /** Called with the result when a key works. */
  readonly onKeyWorks: (result: KeyResult) => void;
  /** Called with the name of the small model when the user wants to try it. */
  readonly onTrySmallModel: (model: string) => void;
}

/** The step that is open. `trial`: the user has signed in, and sees whether a first request to the model succeeds. */
type Choice = 'sign-in' | 'trial' | 'key' | 'small';

/** Draws the buttons or, after a click, what the button opens. */
export function FirstRun({
  providers,
  bundled,
  steps,
  errors,
  onOpen,
  onKeyWorks,
  onTrySmallModel
}: Props): React.ReactElement {
  const { trans, openSettings } = useEnv();
  const [choice, setChoice] = React.useState<Choice>();
  const [result, setResult] = React.useState<KeyResult>();
  const [busy, setBusy] = React.useState(false);
  /** Wait for the result of trying a key, and show it. */
  const handleResult = async (keyTrial: Promise<KeyResult>): Promise<void> => {
    setBusy(true);
    setResult(undefined);
    const keyResult = await keyTrial;
    setBusy(false);
    setResult(keyResult);
    if (keyResult.outcome === 'works') {
      onKeyWorks(keyResult);
    }
  };
  /** Open a step; undefined shows the buttons again. */
  const openStep = (next: Choice | undefined): void => {
    setResult(undefined);
    setChoice(next);
    onOpen(next !== undefined);
  };
  return (
    <div className="eca-Welcome eca-FirstRun" role="region" aria-label={trans.__('First steps')}>
      {choice === undefined && (
        <>
          {/* Code in a kernel can read what a widget sends. So a key is typed only in the panel of Lab. A widget has no
              `openSettings`. */}
          {openSettings === undefined ? (
            <p>
              {trans.__('Type this in the box below to sign in or to use a key:')} <code>/login</code>
            </p>
          ) : (
            <>
              <LargeButton
                label={trans.__('Sign in')}
                hint={listSignInProviders(providers)
                  .map(({ id, label }) => label ?? id)
                  .join(', ')}
                onClick={() => {
                  openStep('sign-in');
                }}
              />
              <LargeButton
                label={trans.__('Paste a key')}
                onClick={() => {
                  openStep('key');
                }}
              />
            </>
          )}
          <LargeButton
            label={trans.__('Try the small model')}
            hint={describeSize(bundled, trans)}
            onClick={() => {
              if (bundled?.installed === true) {
                onTrySmallModel(bundled.model);
              } else {
                openStep('small');
              }
            }}
          />
        </>
      )}
      {choice === 'sign-in' && (
        <SignIn
          providers={listSignInProviders(providers)}
          isListLoaded={providers.length > 0}
          steps={steps}
          errors={errors}
          onSignedIn={id => {
            setChoice('trial');
            void handleResult(steps.tryKey(id));
          }}
          onBack={() => {
            openStep(undefined);
          }}
        />
      )}
      {choice === 'key' && (
        <KeyForm
          providers={listKeyProviders(providers)}
          busy={busy}
          onKey={(provider, key) => void handleResult(steps.useKey(provider, key))}
        />
      )}
      {choice === 'small' && <InstallSteps bundled={bundled} steps={steps} onTrySmallModel={onTrySmallModel} />}
      <KeyOutcome busy={busy} result={result} />
      {choice !== undefined && choice !== 'sign-in' && (
        <button
          type="button"
          className="eca-Link"
          onClick={() => {
            openStep(undefined);
          }}
        >
          {trans.__('Back')}
        </button>
      )}
    </div>
  );
}

/** The type of Lab's translation bundle. */
type Trans = ReturnType<typeof useEnv>['trans'];

/** Return a text that says that the small model is built in, or how much has to be downloaded. */
function describeSize(bundled: BundledModel | undefined, trans: Trans): string {
  if (bundled === undefined) {
    return '';
  }
  return bundled.installed
    ? trans.__('built in')
    : trans.__('download of %1 MB', formatCount(Math.round(bundled.size / 1_000_000)));
}

interface ButtonProps {
  readonly label: string;
  /** A second, smaller line. */
  readonly hint?: string;
  readonly onClick: () => void;
}

/** Draws a large button with a label and, if there is one, a hint below it. */
function LargeButton({ label, hint = '', onClick }: ButtonProps): React.ReactElement {
  return (
    <button type="button" className="eca-Option" onClick={onClick}>
      <strong>{label}</strong>
      {hint !== '' && <small>{hint}</small>}
    </button>
  );
}

interface SignInProps extends Pick<Props, 'providers' | 'steps' | 'errors'> {
  /** Whether the server has sent the list of providers. A quick user may open this step earlier. */
  readonly isListLoaded: boolean;
  /** Called with the id of the provider when the sign-in has succeeded. */
  readonly onSignedIn: (provider: string) => void;
  /** Called when the user wants to go back to the buttons. */
  readonly onBack: () => void;
}

/** Lists the providers that have a sign-in page, and signs the user in to the chosen one. */
function SignIn({ providers, isListLoaded, steps, errors, onSignedIn, onBack }: SignInProps): React.ReactElement {
  const { trans } = useEnv();
  const [chosen, setChosen] = React.useState<string>();
  const provider = providers.length === 1 ? providers[0] : providers.find(({ id }) => id === chosen);
  if (provider !== undefined) {
    return (
      <Login
        provider={provider}
        errors={errors}
        beginLogin={() => steps.signIn(provider.id)}
        sendInput={data => steps.sendInput(provider.id, data)}
        onSignedIn={() => {
          onSignedIn(provider.id);
        }}
        onClose={onBack}
      />
    );
  }
  return (
    <>
      {providers.map(({ id, label }) => (
        <LargeButton
          key={id}
          label={label ?? id}
          onClick={() => {
            setChosen(id);
          }}
        />
      ))}
      {!isListLoaded && (
        <p className="eca-Note" role="status">
          {trans.__('One moment…')}
        </p>
      )}
      {isListLoaded && providers.length === 0 && (
        <p className="eca-Note">{trans.__('No provider can be signed in to here.')}</p>
      )}
      <button type="button" className="eca-Link" onClick={onBack}>
        {trans.__('Back')}
      </button>
    </>
  );
}

interface KeyFormProps {
  /** The providers that need a key. */
  readonly providers: readonly ProviderStatus[];
  /** Whether a key is being tried. */
  readonly busy: boolean;
  /** Called with the id of the provider, and with the key. */
  readonly onKey: (provider: string, key: string) => void;
}

/** Draws the form for a key. The form chooses the provider to which the key seems to belong. */
export function KeyForm({ providers, busy, onKey }: KeyFormProps): React.ReactElement {
  const { trans } = useEnv();
  const [chosen, setChosen] = React.useState('');
  const keyField = React.useRef<HTMLInputElement>(null);
  const id = React.useId();
  // The key may be there before the providers are.
  React.useEffect(() => {
    setChosen(earlier => (earlier === '' ? (guessProvider(keyField.current?.value ?? '', providers) ?? '') : earlier));
  }, [providers]);
  return (
    <form
      className="eca-FirstRun-key"
      autoComplete="off"
      onSubmit={event => {
        event.preventDefault();
        const text = keyField.current?.value.trim() ?? '';
        if (text !== '' && chosen !== '') {
          event.currentTarget.reset();
          onKey(chosen, text);
        }
      }}
    >
      <label htmlFor={`${id}-key`}>{trans.__('Key')}</label>
      <input
        ref={keyField}
        id={`${id}-key`}
        className="eca-Input"
        type="password"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        onInput={event => {
          setChosen(guessProvider(event.currentTarget.value, providers) ?? chosen);
        }}
      />
      <label htmlFor={`${id}-provider`}>{trans.__('Provider')}</label>
      <select
        id={`${id}-provider`}
        value={chosen}
        required
        onChange={event => {
          setChosen(event.target.value);
        }}
      >
        <option value="">{trans.__('Choose…')}</option>
        {providers.map(provider => (
          <option key={provider.id} value={provider.id}>
            {provider.label ?? provider.id}
          </option>
        ))}
      </select>
      <button type="submit" className="eca-Button eca-mod-main" disabled={busy}>
        {trans.__('Use this key')}
      </button>
      <small>{trans.__('The key is sent only to the Jupyter server. It is tried with one small request.')}</small>
    </form>
  );
}

/** Shows the commands that install the small model and, once it is installed, the button that uses it. */
function InstallSteps({
  bundled,
  steps,
  onTrySmallModel
}: Pick<Props, 'bundled' | 'steps' | 'onTrySmallModel'>): React.ReactElement {
  const { trans } = useEnv();
  const [isLooking, setLooking] = React.useState(false);
  /** Fetch the list of providers again. It says whether the small model is installed now. */
  const lookForModel = async (): Promise<void> => {
    setLooking(true);
    await steps.loadProviders();
    setLooking(false);
  };
  if (bundled?.installed === true) {
    return (
      <>
        <p role="status">{trans.__('The small model is installed.')}</p>
        <button
          type="button"
          className="eca-Button eca-mod-main"
          onClick={() => {
            onTrySmallModel(bundled.model);
          }}
        >
          {trans.__('Use the small model')}
        </button>
      </>
    );
  }
  return (
    <>
      <p>{trans.__('The small model runs inside Jupyter, without a key. To install it, run this in a terminal:')}</p>
      {bundled?.commands.map(command => (
        <code key={command} tabIndex={0}>
          {command}
        </code>
      ))}
      <button type="button" className="eca-Button" disabled={isLooking} onClick={() => void lookForModel()}>
        {trans.__('Look for it')}
      </button>
    </>
  );
}

/** Shows that a key is being tried (`busy`), and then the result. */
export function KeyOutcome({
  busy,
  result
}: {
  readonly busy: boolean;
  readonly result: KeyResult | undefined;
}): React.ReactElement | null {
  const { trans } = useEnv();
  if (busy) {
    return (
      <p className="eca-Note" role="status">
        {trans.__('Trying the key…')}
      </p>
    );
  }
  if (result === undefined) {
    return null;
  }
  const { outcome, model, message = '' } = result;
  const texts = {
    works: trans.__('The key works. %1 answers.', model),
    refused: trans.__('The key was refused.'),
    'no-credit': trans.__('The key is right, but the account has no credit.'),
    'no-network': trans.__('The provider cannot be reached. The key is kept, but it was not tried.'),
    failed: trans.__('The key could not be tried.')
  };
  return (
    <p className={outcome === 'works' ? 'eca-Note' : 'eca-Trouble'} role={outcome === 'works' ? 'status' : 'alert'}>
      <strong>{texts[outcome]}</strong> <TextWithCode text={message} />
    </p>
  );
}
