/**
 * Opens the WebSocket to the Jupyter server that Lab itself uses, as a `Link` of text messages.
 *
 * This module knows no message and no method: `rpc.ts` reads what comes over the link.
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
