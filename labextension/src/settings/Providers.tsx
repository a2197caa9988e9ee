/**
 * Shows the providers of models in the settings: the source of each provider's key, and buttons to sign in and out. A
 * provider is a company or a program that runs models.
 *
 * The steps of a sign-in are in `view/first_run/Login.tsx`.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { LoginStep, ProvidersTryResult, ProviderStatus } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { KeyOutcome } from '../view/first_run/FirstRun';
import { Login } from '../view/first_run/Login';

/** Fetches the providers and shows them. At most one sign-in is open at a time. */
export function Providers({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  const { providers, messages } = React.useSyncExternalStore(session.subscribe, () => session.state);
  /** The id of the provider whose sign-in is open; empty when none is. */
  const [openProviderId, setOpenProviderId] = React.useState('');
  const load = React.useCallback(async () => {
    const listed = await session.requestOrShowError('providers/list', {});
    listed?.providers.forEach(params => {
      session.dispatch({ type: 'notification', method: 'providers/updated', params });
    });
  }, [session]);
  React.useEffect(() => void load(), [load]);
  /** The trials of keys in this view, by the ids of the providers. */
  const [trials, setTrials] = React.useState<Readonly<Record<string, Trial | undefined>>>({});
  const setTrial = (provider: string, trial: Trial | undefined): void => {
    setTrials(before => ({ ...before, [provider]: trial }));
  };
  /** Try the key of a provider, and show the result. */
  const tryKey = async (provider: string): Promise<void> => {
    setTrial(provider, 'busy');
    const result = await session.requestOrShowError('providers/try', { provider });
    setTrial(provider, result);
    await load();
  };
  const list = useOrder(Object.values(providers));
  return (
    <>
      <p className="eca-Note">
        {trans.__(
          'A key that you type here is sent only to the Jupyter server. The server stores it in its keyring. Without a keyring, the server keeps it in memory until it stops.'
        )}
      </p>
      {list.length === 0 && <p className="eca-Note">{trans.__('Loading…')}</p>}
      <ul className="eca-Cards">
        {list.map(provider => (
          <ProviderCard
            key={provider.id}
            provider={provider}
            trial={trials[provider.id]}
            onSignIn={() => {
              setTrial(provider.id, undefined);
              setOpenProviderId(provider.id);
            }}
            onSignOut={() => {
              // A sign-in that has ended is shown until it is closed. It would still say that the user is signed in.
              setOpenProviderId(openId => (openId === provider.id ? '' : openId));
              setTrial(provider.id, undefined);
              void session.requestOrShowError('providers/logout', { provider: provider.id });
            }}
            onTry={() => void tryKey(provider.id)}
          >
            {openProviderId === provider.id && (
              <Login
                provider={provider}
                errors={messages.flatMap(({ type, text }) => (type === 'error' ? [text] : []))}
                beginLogin={method => requestLogin(session, provider.id, method)}
                sendInput={data => session.request('providers/loginInput', { provider: provider.id, data })}
                onSignedIn={hasRemark => {
                  if (!hasRemark) {
                    setOpenProviderId('');
                  }
                  void tryKey(provider.id);
                }}
                onClose={() => {
                  setOpenProviderId('');
                }}
              />
            )}
          </ProviderCard>
        ))}
      </ul>
    </>
  );
}

/**
 * Return the providers in the order in which they are shown: first those that could be used when they were first listed,
 * then the others, each by name. A provider keeps its place when the user signs in or out: its buttons would lose the
 * focus if they were moved.
 */
function useOrder(providers: readonly ProviderStatus[]): readonly ProviderStatus[] {
  const ranks = React.useRef<Record<string, number>>({});
  for (const { id, auth } of providers) {
    ranks.current[id] ??= Number(auth.status !== 'authenticated');
  }
  const getName = ({ id, label = id }: ProviderStatus): string => label;
  return [...providers].sort(
    (left, right) =>
      (ranks.current[left.id] ?? 0) - (ranks.current[right.id] ?? 0) || getName(left).localeCompare(getName(right))
  );
}

/** Begin a sign-in and return its first step. `method` is undefined until the user has chosen one. */
function requestLogin(session: Session, provider: string, method: string | undefined): Promise<LoginStep> {
  return session.request('providers/login', { provider, ...(method !== undefined && { method }) });
}

/** How the trial of a key has ended; `busy` until then. */
type Trial = 'busy' | ProvidersTryResult;

interface Props {
  readonly provider: ProviderStatus;
  /** The trial of the key in this view; undefined when there was none. */
  readonly trial: Trial | undefined;
  /** Opens the sign-in. */
  readonly onSignIn: () => void;
  /** Lets the server forget the key. */
  readonly onSignOut: () => void;
  /** Tries the key with one small request. */
  readonly onTry: () => void;
  /** The steps of the sign-in while it is open, otherwise `false`. */
  readonly children?: React.ReactNode;
}

/** Draws the card of one provider. It lists the first eight models. */
export function ProviderCard({ provider, trial, onSignIn, onSignOut, onTry, children }: Props): React.ReactElement {
  const { trans } = useEnv();
  const { id, label, auth, login, models } = provider;
  const name = label ?? id;
  const trialText = useTrialText(provider);
  return (
    <li className="eca-Card" aria-label={name}>
      <div className="eca-Card-head">
        <strong>{name}</strong>
        <span className={`eca-Badge eca-mod-${auth.status}`}>{useStatusText(provider)}</span>
        {trialText !== '' && <span className={`eca-Trial eca-mod-${auth.trial ?? 'untried'}`}>{trialText}</span>}
        {models.length > 0 && <span className="eca-Note">{trans._n('%1 model', '%1 models', models.length)}</span>}
      </div>
      {models.length > 0 && (
        <p className="eca-Card-list" dir="auto">
          {models
            .slice(0, 8)
            .map(model => model.id)
            .join(', ')}
          {models.length > 8 && ' …'}
        </p>
      )}
      <div className="eca-Card-actions">
        {login !== undefined && children === false && (
          <button type="button" className="eca-Button" onClick={onSignIn}>
            {auth.status === 'authenticated'
              ? trans.__('Use another key…')
              : login.methods.length > 1
                ? trans.__('Sign in or paste a key…')
                : trans.__('Paste a key…')}
          </button>
        )}
        {auth.status === 'authenticated' && (
          <button
            type="button"
            className="eca-Button"
            title={trans.__('Send one small request to a model of this provider. It costs a fraction of a cent')}
            disabled={trial === 'busy'}
            onClick={onTry}
          >
            {trans.__('Try the key')}
          </button>
        )}
        {auth.source === 'login' && (
          <button
            type="button"
            className="eca-Button eca-mod-danger"
            title={trans.__('Forget the key or the sign-in')}
            onClick={onSignOut}
          >
            {trans.__('Sign out')}
          </button>
        )}
      </div>
      <KeyOutcome busy={trial === 'busy'} result={trial === 'busy' ? undefined : trial} />
      {children}
    </li>
  );
}

/** Return the result of the last try of a provider's key, in words; empty when the provider has no key. */
function useTrialText({ auth: { status, trial } }: ProviderStatus): string {
  const { trans } = useEnv();
  switch (trial) {
    case 'works':
      return trans.__('the key works');
    case 'refused':
      return trans.__('the key was refused');
    case 'no-credit':
      return trans.__('no credit left');
    default:
      return status === 'authenticated' ? trans.__('not tried yet') : '';
  }
}

/** Return the sign-in status of a provider in words. */
function useStatusText({ auth: { status, source, envVar } }: ProviderStatus): string {
  const { trans } = useEnv();
  switch (status) {
    case 'authenticated':
      return source === 'env'
        ? trans.__('key from %1', envVar)
        : source === 'config'
          ? trans.__('key from the configuration')
          : trans.__('signed in');
    case 'expiring':
      return trans.__('the sign-in expires soon');
    case 'expired':
      return trans.__('the sign-in has expired');
    case 'unauthenticated':
      return trans.__('no key');
    case 'local':
      return trans.__('needs no key');
    case 'not-running':
      return trans.__('not running');
  }
}
