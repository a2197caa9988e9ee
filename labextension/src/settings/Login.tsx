/**
 * Signing in to a provider, step by step as the server asks.
 *
 * What the user types is read from the form at the moment it is sent and is kept nowhere else: not in the state of a
 * view and not in an attribute; the field is empty afterwards. The list of providers is `Providers.tsx`.
 */

import * as React from 'react';

import { LoginField, LoginStep, ProviderStatus } from '../wire/protocol';
import { useEnv } from '../view/common/env';

interface Props {
  readonly provider: ProviderStatus;
  readonly login: (method?: string) => Promise<LoginStep>;
  readonly enter: (data: Readonly<Record<string, string>>) => Promise<LoginStep>;
  /** The error messages of the server, the newest last. */
  readonly errors: readonly string[];
  readonly onEnd: () => void;
}

export function Login({ provider, login, enter, errors, onEnd }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [step, setStep] = React.useState<LoginStep>();
  const [refused, setRefused] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  const take = (next: Promise<LoginStep>): Promise<void> => {
    setRefused('');
    setBusy(true);
    return next
      .then(setStep, (error: unknown) => {
        setRefused(error instanceof Error ? error.message : String(error));
      })
      .finally(() => {
        setBusy(false);
      });
  };
  const begin = React.useRef(() => take(login()));
  React.useEffect(() => {
    void begin.current();
  }, []);
  // The sign-in continues in the browser. When it succeeds, the server notifies all clients.
  const away = step?.action === 'authorize' || step?.action === 'device-code';
  const signedIn = provider.auth.status === 'authenticated' && provider.auth.source === 'login';
  const before = React.useRef(signedIn);
  React.useEffect(() => {
    if (away && signedIn && !before.current) {
      onEnd();
    }
  }, [away, signedIn, onEnd]);
  // When it fails, the server sends an error message. It is repeated here, because the list of messages may be out of
  // sight in the settings.
  const heard = React.useRef(errors.length);
  const trouble = refused !== '' ? refused : away ? (errors.slice(heard.current).at(-1) ?? '') : '';
  return (
    <div className="eca-Login" role="group" aria-label={trans.__('Sign in to %1', provider.label ?? provider.id)}>
      {step !== undefined && (
        <Step step={step} onMethod={method => void take(login(method))} onEnter={data => void take(enter(data))} />
      )}
      {busy && (
        <p className="eca-Note" role="status">
          {trans.__('One moment…')}
        </p>
      )}
      {trouble !== '' && (
        <p className="eca-Trouble" role="alert">
          {trouble}
        </p>
      )}
      <button type="button" className="eca-Link" onClick={onEnd}>
        {step?.action === 'done' ? trans.__('Close') : trans.__('Cancel')}
      </button>
    </div>
  );
}

interface StepProps {
  readonly step: LoginStep;
  readonly onMethod: (method: string) => void;
  readonly onEnter: (data: Readonly<Record<string, string>>) => void;
}

export function Step({ step, onMethod, onEnter }: StepProps): React.ReactElement {
  const { trans } = useEnv();
  const { action, message, methods = [], url, code, fields = [] } = step;
  return (
    <>
      {message !== undefined && <p dir="auto">{message}</p>}
      {action === 'done' && message === undefined && <p>{trans.__('Signed in.')}</p>}
      {methods.length > 0 && (
        <div className="eca-Card-actions">
          {methods.map(({ key, label }) => (
            <button
              key={key}
              type="button"
              className="eca-Button"
              onClick={() => {
                onMethod(key);
              }}
            >
              {label}
            </button>
          ))}
        </div>
      )}
      {code !== undefined && (
        <p>
          {trans.__('Type this code there:')} <code>{code}</code>
        </p>
      )}
      {url !== undefined && /^https?:/.test(url) && (
        <p>
          <a className="eca-Link" href={url} target="_blank" rel="noopener noreferrer">
            {trans.__('Open the sign-in page')}
          </a>
        </p>
      )}
      {fields.length > 0 && <Fields fields={fields} onEnter={onEnter} />}
    </>
  );
}

/** Return the text in a field of a form. */
export function readField(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

function Fields({
  fields,
  onEnter
}: { readonly fields: readonly LoginField[] } & Pick<StepProps, 'onEnter'>): React.ReactElement {
  const { trans } = useEnv();
  return (
    <form
      className="eca-Form"
      autoComplete="off"
      onSubmit={event => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        event.currentTarget.reset();
        onEnter(Object.fromEntries(fields.map(({ key }) => [key, readField(data, key)])));
      }}
    >
      {fields.map(({ key, label, type }, index) => (
        <label key={key}>
          {label}
          <input
            className="eca-Input"
            name={key}
            type={type === 'secret' ? 'password' : 'text'}
            autoComplete="off"
            spellCheck={false}
            autoFocus={index === 0}
          />
        </label>
      ))}
      <div className="eca-Card-actions">
        <button type="submit" className="eca-Button eca-mod-main">
          {trans.__('Sign in')}
        </button>
      </div>
    </form>
  );
}
