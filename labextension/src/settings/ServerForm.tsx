/**
 * Draws the form for an MCP server that the user adds or changes. Such a server provides tools to the assistant. It is
 * started by a command on the machine of the Jupyter server, or it is reached at a URL.
 *
 * This module knows no session: `Servers.tsx` sends what the user has typed. `command_line.ts` parses the command line.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { joinWords, parsePairs, splitWords } from './command_line';
import { McpAddServerParams, ToolServerUpdatedParams } from '../wire/protocol';
import { useEnv } from '../view/common/env';
import { GetField, NamedForm } from './NamedForm';

interface Props {
  /** The server that is changed; absent for a new one. Its name, its kind and its file stay the same. */
  readonly server?: ToolServerUpdatedParams;
  /** Adds or changes the server. Returns the error message; empty when there was no error. */
  readonly onSubmit: (params: McpAddServerParams) => Promise<string>;
  /** Closes the form. */
  readonly onCancel: () => void;
}

/** Matches a valid name. The name is a part of commands (`/server:prompt`) and of the names of tools. */
const NAME_PATTERN = /^[A-Za-z0-9_.-]+$/;

/** Draws the form. It checks what the user has typed before it calls `onSubmit`. */
export function ServerForm({ server, onSubmit, onCancel }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [kind, setKind] = React.useState<'command' | 'url'>(server?.url === undefined ? 'command' : 'url');
  return (
    <NamedForm
      oldName={server?.name}
      namePattern={NAME_PATTERN}
      nameError={trans.__(
        'The name may have only letters, digits, dots, hyphens and underscores, for example my-server. Change the name.'
      )}
      scopes={['global', 'workspace']}
      changeNote={
        <>
          {trans.__('The change is written to the file that has the server, and the server is started again.')}{' '}
          {kind === 'command'
            ? trans.__('The environment is not shown. A variable that you type is added or replaced, the others stay.')
            : trans.__('The headers are not shown. A header that you type is added or replaced, the others stay.')}
        </>
      }
      submitLabel={server === undefined ? trans.__('Add') : trans.__('Save')}
      onSubmit={async getField => {
        const params = readServer(getField);
        return params === undefined
          ? trans.__('Each line must have the form NAME=value. Change the lines that do not.')
          : onSubmit(params);
      }}
      onCancel={onCancel}
    >
      {server === undefined ? (
        <fieldset>
          <legend>{trans.__('Reached by')}</legend>
          {(['command', 'url'] as const).map(choice => (
            <label key={choice}>
              <input
                type="radio"
                name="kind"
                value={choice}
                checked={kind === choice}
                onChange={() => {
                  setKind(choice);
                }}
              />
              {choice === 'command' ? trans.__('a command') : trans.__('a URL')}
            </label>
          ))}
        </fieldset>
      ) : (
        <input type="hidden" name="kind" value={kind} />
      )}
      {kind === 'command' ? (
        <>
          <label>
            {trans.__('Command')}
            <input
              className="eca-Input"
              name="command"
              required
              autoFocus={server !== undefined}
              defaultValue={joinWords(server?.command === undefined ? [] : [server.command, ...(server.args ?? [])])}
              autoComplete="off"
              placeholder={trans.__('uvx some-server')}
            />
          </label>
          <label>
            {trans.__('Environment (NAME=value, one per line)')}
            <textarea className="eca-Input" name="env" rows={2} autoComplete="off" />
          </label>
        </>
      ) : (
        <>
          <label>
            {trans.__('URL')}
            <input
              className="eca-Input"
              name="url"
              type="url"
              required
              autoFocus={server !== undefined}
              defaultValue={server?.url}
              placeholder={trans.__('https://')}
            />
          </label>
          <label>
            {trans.__('Headers (Name: value, one per line)')}
            <textarea className="eca-Input" name="headers" rows={2} autoComplete="off" />
          </label>
        </>
      )}
    </NamedForm>
  );
}

/**
 * Return the server that the fields of the form describe. `getField` returns the text of the field with a name. The
 * field `kind` says whether the server is reached at a URL or started by a command. Return undefined when the headers
 * or the variables of the environment cannot be parsed.
 */
export function readServer(getField: GetField): McpAddServerParams | undefined {
  const scope = getField('scope') === 'workspace' ? 'workspace' : 'global';
  const common = { name: getField('name').trim(), scope } as const;
  if (getField('kind') === 'url') {
    const headers = parsePairs(getField('headers'));
    return headers && { ...common, url: getField('url').trim(), ...(Object.keys(headers).length > 0 && { headers }) };
  }
  const env = parsePairs(getField('env'));
  const [command = '', ...args] = splitWords(getField('command'));
  return env && { ...common, command, args, ...(Object.keys(env).length > 0 && { env }) };
}
