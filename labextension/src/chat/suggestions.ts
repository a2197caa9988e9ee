/**
 * Asks the server what the prompt box can suggest at `@`, `/` and `#`, and names contexts for chips and lists.
 *
 * Knows no view and no connection: requests go through the `Ask` that it is given. The list is
 * `view/composer/Completion.tsx`.
 */

import { ChatCommand, ChatContext, ClientMethods, ChatId } from '../wire/protocol';
import { Requests } from '../wire/rpc';
import { baseName } from '../render/format';
import { sortCommands } from './command_names';
import { Trigger } from './completion_trigger';

/** A line of the list of suggestions. */
export interface Suggestion {
  readonly key: string;
  readonly kind: string;
  readonly label: string;
  readonly detail: string;
  /** The context that is sent with the message when this is chosen. */
  readonly context?: ChatContext;
  /** The text that replaces what was typed. */
  readonly insert?: string;
}

export type Ask = <K extends Requests<ClientMethods>>(
  method: K,
  params: ClientMethods[K]['params']
) => Promise<ClientMethods[K]['result']>;

/** A longer list does not help: the user types another letter instead. */
const MOST = 50;

/** Throws: LinkError, RpcError. */
export async function listSuggestions(
  { kind, query }: Trigger,
  chatId: ChatId,
  contexts: readonly ChatContext[],
  ask: Ask
): Promise<readonly Suggestion[]> {
  return (await querySuggestions(kind, { query, chatId }, contexts, ask)).slice(0, MOST);
}

async function querySuggestions(
  kind: Trigger['kind'],
  params: { readonly query: string; readonly chatId: ChatId },
  contexts: readonly ChatContext[],
  ask: Ask
): Promise<readonly Suggestion[]> {
  switch (kind) {
    case '@':
      return (await ask('chat/queryContext', { ...params, contexts })).contexts.map(toSuggestion);
    case '/':
      return sortCommands((await ask('chat/queryCommands', params)).commands.map(toCommand), params.query);
    case '#':
      return (await ask('chat/queryFiles', params)).files.map(({ path, type }) => ({
        key: path,
        kind: type,
        label: baseName(path),
        detail: path,
        insert: `${path} `
      }));
  }
}

function toCommand({ name, description, type, arguments: declared }: ChatCommand): Suggestion {
  return {
    key: name,
    kind: type,
    label: [`/${name}`, ...declared.map(one => (one.required ? one.name : `[${one.name}]`))].join(' '),
    detail: description,
    insert: `/${name} `
  };
}

function toSuggestion(context: ChatContext): Suggestion {
  const { label, detail } = describeContext(context);
  return { key: keyOf(context), kind: context.type, label, detail, context };
}

/**
 * Return the label and the detail of a context, for a chip and for a list. Each kind has its name in one of these
 * fields.
 */
export function describeContext(context: ChatContext): { readonly label: string; readonly detail: string } {
  const said = context as unknown as Readonly<Record<string, unknown>>;
  const text = (name: string): string => {
    const value = said[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const path = text('path');
  const label = text('label') || text('name') || baseName(path) || text('url') || text('uri') || context.type;
  return { label, detail: text('description') || path || text('uri') || text('url') };
}

/** Return a key that is equal for equal contexts. */
export function keyOf(context: ChatContext): string {
  return JSON.stringify(context);
}
