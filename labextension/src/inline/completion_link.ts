/**
 * Requests inline completions over a link of its own, because the link of the panel exists only when the panel was
 * opened.
 *
 * This module knows no editor: `completion_provider.ts` reads the editor.
 */

import type { ServerConnection } from '@jupyterlab/services';

import type { CompletionDocument } from './completion_context';
import { Client } from '../wire/client';
import { openLink } from '../wire/link';

/** Requests completions from the server. The link is opened at the first request. */
export class CompletionLink {
  /** The client on the link that is open or is being opened; undefined when there is no link. */
  private client: Promise<Client> | undefined;
  /** The number of the last request. The protocol requires a version of the document, so each request has a new one. */
  private version = 0;

  constructor(private readonly settings: ServerConnection.ISettings) {}

  /**
   * Return texts that could follow the cursor. When `signal` aborts, the request is cancelled: the result is then empty
   * if the answer was on its way already, and otherwise an error. For a user who may only read the chats, nothing is
   * requested, because the server would refuse it.
   *
   * Throws: LinkError, RpcError.
   */
  async request(document: CompletionDocument, signal: AbortSignal): Promise<readonly string[]> {
    const params = { docVersion: ++this.version, ...document };
    const client = await this.connect();
    if (client.userInfo.rights?.asks === false) {
      return [];
    }
    const { items } = await client.request('completion/inline', params, signal);
    return signal.aborted ? [] : items.map(({ text }) => text);
  }

  /** Close the link. The next request opens it again. */
  close(): void {
    void this.client?.then(
      client => {
        client.close();
      },
      () => undefined
    );
    this.client = undefined;
  }

  /** Return the client of an open link. A link that failed or was closed is opened again at the next call. */
  private connect(): Promise<Client> {
    if (this.client === undefined) {
      const client = openLink(this.settings).then(link =>
        Client.connectForCompletion(link, () => {
          this.client = undefined;
        })
      );
      this.client = client;
      client.catch(() => {
        this.client = undefined;
      });
    }
    return this.client;
  }
}
