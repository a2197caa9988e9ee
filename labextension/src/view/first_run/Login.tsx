/**
 * Signs the user in to a provider of models. The server decides which step comes next, and this view shows it.
 *
 * The user may type a key. It is read from the form when the form is sent, and is stored nowhere else: not in the state
 * of a view and not in an attribute. The field is empty afterwards. The list of providers is `settings/Providers.tsx`.
 */

import * as React from 'react';

import { LoginField, LoginStep, ProviderStatus } from '../../wire/protocol';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { describeError } from '../common/error_text';
import { TextWithCode } from '../common/TextWithCode';

interface Props {
  readonly provider: ProviderStatus;
  /** Begins a sign-in and returns its first step. Without a method, the step may be the choice of a method. */
  readonly beginLogin: (method?: string) => Promise<LoginStep>;
  /** Sends what the user has typed and returns the next step. */
  readonly sendInput: (data: Readonly<Record<string, string>>) => Promise<LoginStep>;
  /** All error messages of the server, the newest last. */
  readonly errors: readonly string[];
  /** Called once when the sign-in has succeeded. `hasRemark`: this view shows a sentence that the user should read. */
  readonly onSignedIn: (hasRemark: boolean) => void;
  /** Called when the user closes this view. */
  readonly onClose: () => void;
}

/** Draws the sign-in, from its first step to its end. The sign-in begins as soon as this view is drawn. */
export function Login({ provider, beginLogin, sendInput, errors, onSignedIn, onClose }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [step, setStep] = React.useState<LoginStep>();
  const [requestError, setRequestError] = React.useState('');
  const [busy, setBusy] = React.useState(false);
  /** Wait for the next step, and show it. If the request fails, show its error. */
  const showStep = (next: Promise<LoginStep>): Promise<void> => {
    setRequestError('');
    setBusy(true);
    return next
      .then(
        newStep => {
          setStep(newStep);
          if (newStep.action === 'done') {
            onSignedIn(newStep.message !== undefined);
          }
        },
        (error: unknown) => {
          setRequestError(describeError(error, trans));
        }
      )
      .finally(() => {
        setBusy(false);
      });
  };
  const begin = React.useRef(() => showStep(beginLogin()));
  React.useEffect(() => {
    void begin.current();
  }, []);
  // The sign-in continues on another page. When it succeeds, the server notifies all clients.
  const isElsewhere = step?.action === 'authorize' || step?.action === 'device-code';
  const signedIn = provider.auth.status === 'authenticated' && provider.auth.source === 'login';
  const wasSignedIn = React.useRef(signedIn);
  React.useEffect(() => {
    if (isElsewhere && signedIn && !wasSignedIn.current) {
      wasSignedIn.current = true;
      onSignedIn(false);
    }
  }, [isElsewhere, signedIn, onSignedIn]);
  // When the sign-in fails on the other page, the server sends an error message. It is repeated here, because the user
  // may not see the list of messages in the settings.
  const earlierErrorCount = React.useRef(errors.length);
  const error =
    requestError !== '' ? requestError : isElsewhere ? (errors.slice(earlierErrorCount.current).at(-1) ?? '') : '';
  return (
    <div className="eca-Login" role="group" aria-label={trans.__('Sign in to %1', provider.label ?? provider.id)}>
      {step !== undefined && (
        <Step
          step={step}
          onMethod={method => void showStep(beginLogin(method))}
          onEnter={data => void showStep(sendInput(data))}
        />
      )}
      {busy && (
        <p className="eca-Note" role="status">
          {trans.__('One moment…')}
        </p>
      )}
      {error !== '' && (
        <p className="eca-Trouble" role="alert">
          <TextWithCode text={error} />
        </p>
      )}
      <button type="button" className="eca-Link" onClick={onClose}>
        {step?.action === 'done' ? trans.__('Close') : trans.__('Cancel')}
      </button>
    </div>
  );
}

interface StepProps {
  readonly step: LoginStep;
  /** Called with the method that the user chooses. */
  readonly onMethod: (method: string) => void;
  /** Called with what the user has typed, by the keys of the fields. */
  readonly onEnter: (data: Readonly<Record<string, string>>) => void;
}

/** Draws one step of a sign-in: a choice of methods, a code, a link, or fields to fill in. */
export function Step({ step, onMethod, onEnter }: StepProps): React.ReactElement {
  const { trans } = useEnv();
  const { action, message, methods = [], url, code, fields = [] } = step;
  return (
    <>
      {message !== undefined && (
        <p dir="auto">
          <TextWithCode text={message} />
        </p>
      )}
      {action === 'done' && message === undefined && <p>{trans.__('Signed in.')}</p>}
      {methods.length > 0 && (
        <div className="eca-Card-actions">
          {methods.map(({ key, label }, index) => (
            <button
              key={key}
              type="button"
              className="eca-Button"
              autoFocus={index === 0}
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
          {trans.__('Type this code on the sign-in page:')} <code>{code}</code>
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

/** Return the text in a field of a form; empty when the form has no such field. */
export function readField(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/** Draws the form with the fields of a step, for example for a key. */
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
