/**
 * Opens a WebSocket to the Jupyter server of the page, as a `Link` that carries text messages.
 *
 * This module knows no message and no method: `rpc.ts` reads the messages.
 */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { Link, LinkError } from './rpc';

/**
 * Open the link to the server of these settings. `listen` of the link may be called late, because the server sends
 * nothing before it has received `initialize`.
 *
 * Throws: LinkError, without a reason, because a browser does not tell a page why a WebSocket was refused.
 */
export function openLink(settings: ServerConnection.ISettings): Promise<Link> {
  return new Promise((resolve, reject) => {
    const socket = new settings.WebSocket(buildUrl(settings));
    socket.onopen = () => {
      resolve(wrapSocket(socket));
    };
    socket.onclose = () => {
      reject(new LinkError('the server did not open the WebSocket'));
    };
  });
}

/**
 * The header that a JupyterHub adds to all of its answers. When it has stopped a server, it answers for that server.
 */
const HUB_HEADER = 'x-jupyterhub-version';

/**
 * Find out why no WebSocket can be opened: send a small request over HTTP, because a page can read the answers to such
 * requests. `stopped`: the server is not running. `signed-out`: the server does not know the user. `lost`: unknown.
 */
export async function findOutage(settings: ServerConnection.ISettings): Promise<'lost' | 'signed-out' | 'stopped'> {
  try {
    const url = URLExt.join(settings.baseUrl, 'api', 'status');
    const { status, redirected, headers } = await ServerConnection.makeRequest(url, {}, settings);
    const isHubAnswer = headers.has(HUB_HEADER);
    // 424 is the answer of a hub for a server that is not running, 503 that of a proxy. A hub may also answer 404. From
    // the server itself, 404 would mean something else.
    if (status === 424 || status === 503 || (isHubAnswer && status === 404)) {
      return 'stopped';
    }
    // A server that does not know the user refuses, or leads to the page where one signs in.
    return status === 401 || status === 403 || redirected ? 'signed-out' : 'lost';
  } catch {
    // The network is down, or nobody listens there.
    return 'lost';
  }
}

/**
 * Return the address of the WebSocket. A page cannot set headers on a WebSocket, so without cookies the token is a part
 * of the address, as in Lab's own URLs.
 */
function buildUrl({ wsUrl, token, appendToken }: ServerConnection.ISettings): string {
  const url = URLExt.join(wsUrl, 'eca', 'ws');
  return appendToken && token !== '' ? `${url}?token=${encodeURIComponent(token)}` : url;
}

/** Return an open WebSocket as a link. */
function wrapSocket(socket: WebSocket): Link {
  return {
    send: text => {
      socket.send(text);
    },
    listen: (onMessage, onClose) => {
      socket.onmessage = ({ data }: MessageEvent<string>) => {
        onMessage(data);
      };
      socket.onclose = onClose;
      if (socket.readyState !== WebSocket.OPEN) {
        onClose();
      }
    },
    close: () => {
      socket.close();
    }
  };
}
