/**
 * Sends the requests for the first steps of a user who has set up no model: it finds out which provider a pasted key
 * belongs to, and whether the key works. To try a key, the server sends one small request to the provider's model.
 *
 * A key passes through this module on its way to the server, and is not stored here. This module knows no view:
 * `FirstRun.tsx` draws the steps.
 */

import { BundledModel, LoginStep, ProviderStatus, ProvidersTryResult } from '../../wire/protocol';
import { LinkError } from '../../wire/rpc';
import type { Session } from '../../chat/session';

/** The method of a sign-in with a browser, as `providers/login` names it. */
const BROWSER_METHOD = 'browser';

/** The result of trying a key. `outcome` is a fixed word that programs compare, `message` a sentence for the user. */
export type KeyResult = ProvidersTryResult;

/**
 * Whether to show the first steps: when there is no model, or when there is only the small one (`bundled`) and no chat
 * yet. `chatCount` is the number of stored chats.
 */
export function needsFirstRun(
  models: readonly string[],
  bundled: BundledModel | undefined,
  chatCount: number
): boolean {
  return models.length === 0 || (chatCount === 0 && models.every(model => model === bundled?.model));
}

/**
 * Return the id of the provider whose keys begin like this one. For example, `sk-ant-` is Anthropic's and `sk-` is
 * OpenAI's. If several beginnings fit, the longest counts; if none fits, return undefined.
 */
export function guessProvider(key: string, providers: readonly ProviderStatus[]): string | undefined {
  const text = key.trim();
  let best: { readonly id: string; readonly length: number } | undefined;
  for (const { id, login } of providers) {
    for (const prefix of login?.keyPrefixes ?? []) {
      if (text.startsWith(prefix) && prefix.length > (best?.length ?? 0)) {
        best = { id, length: prefix.length };
      }
    }
  }
  return best?.id;
}

/** Return the providers that need only a key, and no address. */
export function listKeyProviders(providers: readonly ProviderStatus[]): readonly ProviderStatus[] {
  return providers.filter(({ login }) => login !== undefined && login.asksForUrl !== true);
}

/** Return the providers at whose own page a user can sign in. */
export function listSignInProviders(providers: readonly ProviderStatus[]): readonly ProviderStatus[] {
  return providers.filter(({ login }) => login?.methods.some(({ key }) => key === BROWSER_METHOD));
}

/** Sends the requests of the first steps to the server. */
export class FirstSteps {
  constructor(private readonly session: Session) {}

  /** Fetch the list of providers, and put it into the state of the session. */
  async loadProviders(): Promise<void> {
    const listed = await this.session.requestOrShowError('providers/list', {});
    listed?.providers.forEach(params => {
      this.session.dispatch({ type: 'notification', method: 'providers/updated', params });
    });
  }

  /** Begin a sign-in in the browser to the provider with this id. Throws: LinkError, RpcError. */
  signIn(provider: string): Promise<LoginStep> {
    return this.session.request('providers/login', { provider, method: BROWSER_METHOD });
  }

  /** Send what the user has typed for a sign-in, by the keys of the fields. Throws: LinkError, RpcError. */
  sendInput(provider: string, data: Readonly<Record<string, string>>): Promise<LoginStep> {
    return this.session.request('providers/loginInput', { provider, data });
  }

  /** Give a key to the server, and try it. If the provider refuses the key, the server forgets it. */
  async useKey(provider: string, key: string): Promise<KeyResult> {
    try {
      await this.sendInput(provider, { key });
    } catch (error) {
      return explainError(error, 'refused');
    }
    const result = await this.tryKey(provider);
    if (result.outcome === 'refused') {
      await this.session.requestOrShowError('providers/logout', { provider });
    }
    return result;
  }

  /** Try the key of a provider with one small request. If it works, its model answers from now on. */
  async tryKey(provider: string): Promise<KeyResult> {
    let result: KeyResult;
    try {
      result = await this.session.request('providers/try', { provider });
    } catch (error) {
      return explainError(error, 'failed');
    }
    if (result.outcome === 'works') {
      this.session.choose({ model: result.model });
    }
    return result;
  }
}

/**
 * Return the result for a request that failed. `outcome` is the outcome if the server has answered with an error.
 * Without a connection the outcome is `failed`, because nothing is known about the key.
 */
function explainError(error: unknown, outcome: KeyResult['outcome']): KeyResult {
  // The panel shows by itself that there is no connection.
  return error instanceof LinkError
    ? { outcome: 'failed', model: '', message: '' }
    : { outcome, model: '', message: error instanceof Error ? error.message : String(error) };
}
