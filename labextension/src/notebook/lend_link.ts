/** A link on which the notebooks of the page are lent, and nothing else is done. Loaded when a cell asks. */

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
