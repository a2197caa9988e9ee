/**
 * Asks the server what the prompt box can suggest at `@`, `/` and `#`, and describes contexts for chips and lists.
 *
 * This module knows no view and no connection: it sends requests through the argument `ask`. The list itself is
 * `view/composer/Completion.tsx`.
 */

import { ChatCommand, ChatContext, ClientMethods, ChatId } from '../wire/protocol';
import { Requests } from '../wire/rpc';
import { baseName } from '../render/format';
import { sortCommands } from './command_names';
import { Trigger } from './completion_trigger';

/** A line of the list of suggestions. */
export interface Suggestion {
  /** Identifies the suggestion in its list. For a command it is the name of the command. */
  readonly key: string;
  /** The kind of context, command or file, which decides the icon. */
  readonly kind: string;
  readonly label: string;
  /** A longer text beside the label: a description or a path. */
  readonly detail: string;
  /** The context that is sent with the message when this is chosen. */
  readonly context?: ChatContext;
  /** The text that replaces what was typed. */
  readonly insert?: string;
}

/** Sends a request to the server and returns the answer. */
export type Ask = <K extends Requests<ClientMethods>>(
  method: K,
  params: ClientMethods[K]['params']
) => Promise<ClientMethods[K]['result']>;

/** The most suggestions in a list. A longer list does not help: the user types another letter instead. */
const MOST = 50;

/** Return the suggestions for what the user has typed. `contexts` were chosen already. Throws: LinkError, RpcError. */
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
    label: [`/${name}`, ...declared.map(arg => (arg.required ? arg.name : `[${arg.name}]`))].join(' '),
    detail: description,
    insert: `/${name} `
  };
}

function toSuggestion(context: ChatContext): Suggestion {
  const { label, detail } = describeContext(context);
  return { key: createContextKey(context), kind: context.type, label, detail, context };
}

/**
 * Return the label and the detail of a context, for a chip and for a list. The kinds of context have their names in
 * different fields, which are tried one after the other.
 */
export function describeContext(context: ChatContext): { readonly label: string; readonly detail: string } {
  const fields = context as unknown as Readonly<Record<string, unknown>>;
  const text = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const path = text('path');
  const label = text('label') || text('name') || baseName(path) || text('url') || text('uri') || context.type;
  return { label, detail: text('description') || path || text('uri') || text('url') };
}

/** Return a key that is equal for equal contexts. */
export function createContextKey(context: ChatContext): string {
  return JSON.stringify(context);
}
