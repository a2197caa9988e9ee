/**
 * Stops the assistant in all chats, and tells the user in how many chats it was running.
 *
 * The command in `plugin.ts` loads this module when the user runs the command. The connection is closed as soon as the
 * chats are stopped.
 */

import { Notification } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';

import { Client } from '../wire/client';
import { openLink } from '../wire/link';
import { LinkError } from '../wire/rpc';

/** How long the notification is shown: long enough to read a line, and short enough not to disturb. */
const READING_TIME_MS = 5000;

/** Stop the assistant in all chats, and notify the user of the result. */
export async function stopAssistant(settings: ServerConnection.ISettings, trans: TranslationBundle): Promise<void> {
  try {
    const stoppedCount = await stopChats(settings);
    Notification.info(
      stoppedCount === 0
        ? trans.__('The assistant is not busy: there is nothing to stop.')
        : trans._n('Stopped the assistant in %1 chat.', 'Stopped the assistant in %1 chats.', stoppedCount),
      { autoClose: READING_TIME_MS }
    );
  } catch (error) {
    Notification.error(explainFailure(error, trans), { autoClose: false });
  }
}

/** Stop all running chats and return their number. Throws: LinkError, RpcError. */
async function stopChats(settings: ServerConnection.ISettings): Promise<number> {
  const link = await openLink(settings);
  try {
    return (await (await Client.connect(link)).stopRunning()).length;
  } finally {
    link.close();
  }
}

/** Return the reason of a failure in one sentence: Lab cuts a notification after 140 characters. */
function explainFailure(error: unknown, trans: TranslationBundle): string {
  if (error instanceof LinkError) {
    return trans.__('No assistant on this server. Does “jupyter server extension list” show jupyter_eca as enabled?');
  }
  return trans.__('The assistant could not be stopped: %1', error instanceof Error ? error.message : String(error));
}
