/**
 * Asks the server for the suggestions of the prompt box after `@` (contexts), `/` (commands) and `#` (files).
 *
 * This module knows no view and no connection: it sends requests with its argument `sendRequest`. The list itself is
 * drawn by `view/composer/Completion.tsx`.
 */

import { ChatCommand, ChatContext, ClientMethods, ChatId } from '../wire/protocol';
import { Requests } from '../wire/rpc';
import { baseName } from '../render/format';
import { CommandGroup, groupCommands, sortCommands } from './command_names';
import { Trigger } from '../mentions/completion_trigger';
import { createContextKey, describeContext, readField } from '../mentions/mentions';

/** A line of the list of suggestions. */
export interface Suggestion {
  /** Identifies the suggestion in its list. The key of a command is its name. */
  readonly key: string;
  /** The kind of context, command or file, which decides the icon. */
  readonly kind: string;
  readonly label: string;
  /** A longer text beside the label: a description or a path. */
  readonly detail: string;
  /** The group of a command, in the list of all commands. */
  readonly group?: CommandGroup;
  /** Whether a command does nothing without more words. Then Enter does not send the name alone. */
  readonly needsWords?: boolean;
  /** The context that is sent with the message when this suggestion is chosen. */
  readonly context?: ChatContext;
  /** The text that replaces what was typed. */
  readonly insert?: string;
}

/** What the server suggests for a text. */
export interface Suggestions {
  readonly items: readonly Suggestion[];
  /** Whether variables are missing, because the kernel is busy. */
  readonly lacksVariables: boolean;
}

/** Sends a request to the server and returns the answer. */
export type SendRequest = <K extends Requests<ClientMethods>>(
  method: K,
  params: ClientMethods[K]['params']
) => Promise<ClientMethods[K]['result']>;

/** The most suggestions in a list. A longer list does not help: the user types another letter instead. */
const MAX_SUGGESTIONS = 50;

/** Return the suggestions for what the user has typed. `contexts` were chosen already. Throws: LinkError, RpcError. */
export async function listSuggestions(
  { kind, query }: Trigger,
  chatId: ChatId,
  contexts: readonly ChatContext[],
  sendRequest: SendRequest
): Promise<Suggestions> {
  const { items, lacksVariables } = await querySuggestions(kind, { query, chatId }, contexts, sendRequest);
  return { items: items.slice(0, MAX_SUGGESTIONS), lacksVariables };
}

/**
 * Ask the server for the suggestions of a kind, and return all of them. `params` has the word that was typed after the
 * sign (`query`), and the id of the chat. `contexts` were chosen already.
 */
async function querySuggestions(
  kind: Trigger['kind'],
  params: { readonly query: string; readonly chatId: ChatId },
  contexts: readonly ChatContext[],
  sendRequest: SendRequest
): Promise<Suggestions> {
  switch (kind) {
    case '@': {
      const result = await sendRequest('chat/queryContext', { ...params, contexts });
      return { items: result.contexts.map(toSuggestion), lacksVariables: result.lacksVariables === true };
    }
    case '/': {
      const { commands } = await sendRequest('chat/queryCommands', params);
      const items = commands.map(toCommand);
      return {
        items: params.query === '' ? groupCommands(items) : sortCommands(items, params.query),
        lacksVariables: false
      };
    }
    case '#': {
      const { files } = await sendRequest('chat/queryFiles', params);
      const items = files.map(({ path, relativePath = path, type }) => ({
        key: path,
        kind: type,
        label: baseName(path),
        detail: relativePath,
        insert: `${relativePath} `
      }));
      return { items, lacksVariables: false };
    }
  }
}

/**
 * Return the suggestion for a command. Its label is like `/resume CHAT [MODEL]`: optional arguments are in brackets.
 */
function toCommand({ name, description, type, arguments: declaredArguments }: ChatCommand): Suggestion {
  const names = declaredArguments.map(argument => (argument.required ? argument.name : `[${argument.name}]`));
  return {
    key: name,
    kind: type,
    label: [`/${name}`, ...names].join(' '),
    detail: description,
    insert: `/${name} `,
    needsWords: declaredArguments.some(argument => argument.required)
  };
}

/**
 * Return the suggestion for a context. Cells are listed by their heading or first line, because a number says little.
 * An empty cell has only its number.
 *
 * The address of an MCP resource may be a template such as `docs://{page}`. It becomes a context only when the user has
 * typed the page. So the suggestion inserts the part before the `{`, and the user types the rest.
 */
function toSuggestion(context: ChatContext): Suggestion {
  const { label, detail } = describeContext(context);
  const common = { key: createContextKey(context), kind: context.type };
  const uri = context.type === 'mcpResource' ? readField(context, 'uri') : '';
  if (uri.includes('{')) {
    return { ...common, label, detail, insert: `@${readField(context, 'server')}:${uri.slice(0, uri.indexOf('{'))}` };
  }
  if (context.type !== 'cell') {
    return { ...common, label, detail, context };
  }
  // The label of a cell has its number. It becomes the detail if there is a line to show in its place.
  const firstLine = readField(context, 'description').replace(/^#+\s+/, '');
  return { ...common, label: firstLine || label, detail: firstLine && label, context };
}
