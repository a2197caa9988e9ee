/**
 * The tool servers: asks the server for them and passes on what the user does to one.
 *
 * One of them is drawn by `Server.tsx`, the form for a new one by `ServerForm.tsx`.
 */

import * as React from 'react';

import { ServerLogLine } from '../wire/protocol';
import { Session } from '../chat/session';
import { useEnv } from '../view/common/env';
import { Server, ServerActions } from './Server';
import { ServerForm } from './ServerForm';

export function Servers({ session }: { readonly session: Session }): React.ReactElement {
  const { trans } = useEnv();
  const { servers } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const [adding, setAdding] = React.useState(false);
  const actions = React.useMemo(() => actionsOf(session), [session]);
  const shown = Object.values(servers).sort(
    (one, other) => one.type.localeCompare(other.type) || one.name.localeCompare(other.name)
  );
  return (
    <>
      <p className="eca-Note">
        {trans.__('Changes here are written to the configuration of the assistant. Editors that use ECA read it, too.')}
      </p>
      {adding ? (
        <ServerForm
          onAdd={async params => {
            const done = await session.ask('mcp/addServer', params);
            if (done?.error === undefined) {
              setAdding(done === undefined);
              return '';
            }
            return done.error.message;
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
          <Server key={server.name} server={server} {...actions} />
        ))}
      </ul>
    </>
  );
}

function actionsOf(session: Session): ServerActions {
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
      const done = await session.ask('mcp/removeServer', { name });
      if (done?.error !== undefined) {
        session.showMessage('error', done.error.message);
      }
    },
    onSwitch: async (server, tool, on) => {
      await session.ask('tool/switch', { server, tool, on });
    },
    log: async (name): Promise<readonly ServerLogLine[]> => (await session.ask('mcp/serverLog', { name }))?.lines ?? []
  };
}
