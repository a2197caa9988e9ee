/**
 * Opens a link over which the server can read, edit and run the notebooks of this page. Chats in cells (`%%eca`) need
 * this link when the panel, which has a link of its own, is not open.
 *
 * `page_notebooks.ts` decides when the link is needed, and loads this module then.
 */

import { ServerConnection } from '@jupyterlab/services';

import { Client, NotebookHost } from '../wire/client';
import { openLink } from '../wire/link';

/** Open the link. `onClose` is called when the link has closed. Throws: LinkError, RpcError. */
export async function connectNotebooks(
  settings: ServerConnection.ISettings,
  notebooks: NotebookHost,
  onClose: () => void
): Promise<void> {
  await Client.connectForNotebooks(await openLink(settings), notebooks, onClose);
}
