/** A link on which the notebooks of the page are lent, and nothing else is done. Loaded when a cell asks. */

import { ServerConnection } from '@jupyterlab/services';

import { Client, NotebookHost } from '../wire/client';
import { openLink } from '../wire/link';

/** Throws: LinkError, RpcError. */
export async function lend(
  settings: ServerConnection.ISettings,
  notebooks: NotebookHost,
  gone: () => void
): Promise<void> {
  await Client.lending(await openLink(settings), notebooks, gone);
}
