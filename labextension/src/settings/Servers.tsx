/**
 * The section of the settings with the tool servers. It lists them, and sends what the user does to the Jupyter server.
 *
 * `Server.tsx` draws a single tool server, `ServerForm.tsx` the form for a new or changed one.
 */

import * as React from 'react';

import { ServerLogLine } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { Server, ServerActions } from './Server';
import { ServerForm } from './ServerForm';
import { describeError } from '../view/common/error_text';

/** The list of tool servers, with the form for a new one or a changed one. */
export function Servers({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  const { servers } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [adding, setAdding] = React.useState(false);
  /** The name of the server whose form is open; empty when none is. */
  const [editing, setEditing] = React.useState('');
  const actions = React.useMemo(() => ({ ...createActions(session), onEdit: setEditing }), [session]);
  const shown = Object.values(servers).sort(
    (left, right) => left.type.localeCompare(right.type) || left.name.localeCompare(right.name)
  );
  return (
    <>
      <p className="eca-Note">
        {trans.__('Changes here are written to the configuration of the assistant. Editors that use ECA read it, too.')}
      </p>
      {adding ? (
        <ServerForm
          onSubmit={async params => {
            const result = await session.requestOrShowError('mcp/addServer', params);
            if (result?.error === undefined) {
              // Without a result, the request failed: the error is shown above, and the form stays open.
              setAdding(result === undefined);
              return '';
            }
            return result.error.message;
          }}
          onCancel={() => {
            setAdding(false);
          }}
        />
      ) : (
        <button
          type="button"
          className="eca-Button eca-mod-main"
          onClick={() => {
            setAdding(true);
          }}
        >
          {trans.__('Add a server…')}
        </button>
      )}
      <ul className="eca-Cards">
        {shown.map(server => (
          <Server key={server.name} server={server} {...actions}>
            {editing === server.name && (
              <ServerForm
                server={server}
                onSubmit={async params => {
                  try {
                    await session.request('mcp/updateServer', params);
                  } catch (error) {
                    return describeError(error, trans);
                  }
                  setEditing('');
                  return '';
                }}
                onCancel={() => {
                  setEditing('');
                }}
              />
            )}
          </Server>
        ))}
      </ul>
    </>
  );
}

/** Return what the buttons of all tool servers do. */
function createActions(session: Session): Omit<ServerActions, 'onEdit'> {
  return {
    onStart: name => {
      session.notify('mcp/startServer', { name });
    },
    onStop: name => {
      session.notify('mcp/stopServer', { name });
    },
    onEnable: name => {
      session.notify('mcp/enableServer', { name });
    },
    onDisable: name => {
      session.notify('mcp/disableServer', { name });
    },
    onSignIn: name => {
      session.notify('mcp/connectServer', { name });
    },
    onSignOut: name => {
      session.notify('mcp/logoutServer', { name });
    },
    onRemove: async name => {
      const result = await session.requestOrShowError('mcp/removeServer', { name });
      if (result?.error !== undefined) {
        session.showMessage('error', result.error.message);
      }
    },
    onSwitch: async (server, tool, on) => {
      await session.requestOrShowError('tool/switch', { server, tool, on });
    },
    readLog: async (name): Promise<readonly ServerLogLine[]> =>
      (await session.requestOrShowError('mcp/serverLog', { name }))?.lines ?? []
  };
}
