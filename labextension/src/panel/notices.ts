/**
 * Shows an offer of the server as a notification of Lab. An offer is an action that the user can start: to open a link,
 * or to sign in to an MCP server. Nothing is opened or started before the user clicks.
 *
 * `chat/offers.ts` defines the offers.
 */

import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';

import { Offer } from '../chat/offers';

/** Show an offer. `signIn` is called with the server's name when the user wants to sign in. */
export function showOffer(offer: Offer, trans: TranslationBundle, signIn: (server: string) => void): void {
  if (offer.kind === 'link') {
    const { text, url } = offer;
    // The click of the user opens the page, so the browser does not block it as a pop-up. With `noopener`, the new page
    // cannot access this page.
    const open = (): void => void window.open(url, '_blank', 'noopener,noreferrer');
    // `URL` returns the host in ASCII letters. So no letter of another alphabet can imitate the name of a known host.
    const label = trans.__('Open %1', new URL(url).host);
    Notification.info(text, { autoClose: false, actions: [{ label, caption: url, callback: open }] });
    return;
  }
  const { server } = offer;
  Notification.info(trans.__('The MCP server “%1” wants you to sign in.', server), {
    autoClose: false,
    actions: [
      {
        label: trans.__('Sign In'),
        callback: () => {
          signIn(server);
        }
      }
    ]
  });
}
