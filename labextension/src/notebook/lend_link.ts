/**
 * Opens a link over which the server can read, edit and run the notebooks of this page. Chats in cells need it, because
 * the panel may not be open.
 *
 * `page_notebooks.ts` decides when the link is needed, and loads this module then.
 */

import { ServerConnection } from '@jupyterlab/services';

import { Client, NotebookHost } from '../wire/client';
import { openLink } from '../wire/link';

/** Open the link. `onClose` is called when it has closed. Throws: LinkError, RpcError. */
export async function lendNotebooks(
  settings: ServerConnection.ISettings,
  notebooks: NotebookHost,
  onClose: () => void
): Promise<void> {
  await Client.connectForNotebooks(await openLink(settings), notebooks, onClose);
}
