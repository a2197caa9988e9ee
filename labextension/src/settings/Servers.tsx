/**
 * Lists the tool servers in the settings, and sends the user's changes to the Jupyter server. A tool server is an MCP
 * server, or the assistant itself with its own tools.
 *
 * `Server.tsx` draws a single tool server, `ServerForm.tsx` the form for a new or changed one.
 */

import * as React from 'react';

import { createElement } from '../view/common/element';
import { McpServerFiles, ServerLogLine } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { ServerCard, ServerActions } from './Server';
import { ServerForm } from './ServerForm';
import { describeError } from '../view/common/error_text';

/** Draws the list of tool servers, with the form for a server that is added or changed. */
export function Servers({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  const { servers } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [isAdding, setAdding] = React.useState(false);
  /** The name of the server whose form is open; empty when no form is open. */
  const [editedServer, setEditedServer] = React.useState('');
  const actions = React.useMemo(() => ({ ...createActions(session), onEdit: setEditedServer }), [session]);
  const [files, setFiles] = React.useState<readonly McpServerFiles[]>([]);
  const serverNames = Object.keys(servers).sort().join(' ');
  React.useEffect(() => {
    // A server that was added, changed or removed may be in another file now.
    void session.requestOrShowError('mcp/serverFiles', {}).then(result => {
      setFiles(result?.servers ?? []);
    });
  }, [session, serverNames]);
  const sortedServers = Object.values(servers).sort(
    (left, right) => left.type.localeCompare(right.type) || left.name.localeCompare(right.name)
  );
  return (
    <>
      <p className="eca-Note">
        {trans.__('Changes here are written to the configuration of the assistant. Editors that use ECA read it, too.')}
      </p>
      {isAdding ? (
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
        {sortedServers.map(server => (
          <ServerCard
            key={server.name}
            server={server}
            files={files.find(({ name }) => name === server.name)?.files ?? []}
            {...actions}
          >
            {editedServer === server.name && (
              <ServerForm
                server={server}
                onSubmit={async params => {
                  try {
                    await session.request('mcp/updateServer', params);
                  } catch (error) {
                    return describeError(error, trans);
                  }
                  setEditedServer('');
                  return '';
                }}
                onCancel={() => {
                  setEditedServer('');
                }}
              />
            )}
          </ServerCard>
        ))}
      </ul>
    </>
  );
}

/** Return the functions that the buttons of all tool servers call. */
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
    onSwitch: async (server, tool, isOn) => {
      await session.requestOrShowError('tool/switch', { server, tool, on: isOn });
    },
    readLog: async (name): Promise<readonly ServerLogLine[]> =>
      (await session.requestOrShowError('mcp/serverLog', { name }))?.lines ?? []
  };
}
