/**
 * Opens a link over which the server can use the notebooks of this page, for chats without a panel.
 *
 * Loaded when the first cell asks; `page_notebooks.ts` decides when that is.
 */

import { ServerConnection } from '@jupyterlab/services';

import { Client, NotebookHost } from '../wire/client';
import { openLink } from '../wire/link';

/** Throws: LinkError, RpcError. */
export async function lendNotebooks(
  settings: ServerConnection.ISettings,
  notebooks: NotebookHost,
  onClose: () => void
): Promise<void> {
  await Client.connectForNotebooks(await openLink(settings), notebooks, onClose);
}
