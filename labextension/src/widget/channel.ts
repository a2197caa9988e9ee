/**
 * A link to the engine through the widget's comm: what the kernel sends to one model reaches every page that shows it,
 * so each page has a channel of its own, by a name that it chooses, and hears no other.
 *
 * The page says `open`; the kernel answers `opened`, with the chat of the notebook's cells, or `closed`. From then on
 * both send `messages`, until one of them closes. `ping` asks whether the page is still there.
 */

import { Link, LinkError } from '../wire/rpc';
import { WidgetModel } from './model';

/** What the kernel sends, of which each message has a part. */
interface Told {
  readonly channel?: string;
  readonly opened?: true;
  readonly chat?: string;
  readonly resumed?: boolean;
  readonly messages?: readonly unknown[];
  readonly closed?: true;
  readonly why?: string;
  readonly ping?: true;
}

export interface Opened {
  readonly link: Link;
  /** Where the cells of the notebook ask, or the chat that the panel was asked to go on with. */
  readonly chat: string;
  readonly resumed: boolean;
}

/** `silent` is called when the kernel has not answered for a while: it may be at work, or gone. */
export function openChannel(
  model: WidgetModel,
  channel: string,
  later: (call: () => void, ms: number) => () => void,
  silent: () => void
): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const link = new ChannelLink(model, channel);
    const waiting = later(silent, PATIENCE_MS);
    link.settled = (told, error) => {
      waiting();
      if (told === undefined) {
        reject(error ?? new LinkError('the kernel is gone'));
      } else {
        resolve({ link, chat: told.chat ?? '', resumed: told.resumed === true });
      }
    };
    link.tell({ open: true });
  });
}

/** A kernel answers within milliseconds when it is at rest; its first answer imports for a second or two. */
const PATIENCE_MS = 4000;

class ChannelLink implements Link {
  settled: (told: Told | undefined, error?: Error) => void = () => undefined;
  private received?: (text: string) => void;
  private closed?: () => void;
  private ended = false;

  constructor(
    private readonly model: WidgetModel,
    private readonly channel: string
  ) {
    model.on('msg:custom', this.hear);
    model.on('comm_live_update', this.lost);
    model.on('destroy', this.lost);
  }

  send(text: string): void {
    this.tell({ messages: [JSON.parse(text)] });
  }

  /** A model whose kernel is gone refuses to send: then the link is closed. */
  tell(words: object): void {
    try {
      this.model.send({ channel: this.channel, ...words });
    } catch {
      this.end();
    }
  }

  listen(received: (text: string) => void, closed: () => void): void {
    this.received = received;
    this.closed = closed;
  }

  close(): void {
    if (!this.ended) {
      this.tell({ close: true });
      this.end();
    }
  }

  private readonly hear = (told: Told): void => {
    if (told.channel !== this.channel) {
      return;
    }
    if (told.opened === true) {
      this.settled(told);
    }
    for (const message of told.messages ?? []) {
      this.received?.(JSON.stringify(message));
    }
    if (told.ping === true) {
      this.tell({});
    }
    if (told.closed === true) {
      this.end(told.why === undefined ? undefined : new Error(told.why));
    }
  };

  private readonly lost = (): void => {
    this.end();
  };

  private end(error?: Error): void {
    if (this.ended) {
      return;
    }
    this.ended = true;
    this.model.off('msg:custom', this.hear);
    this.model.off('comm_live_update', this.lost);
    this.model.off('destroy', this.lost);
    this.settled(undefined, error);
    this.closed?.();
  }
}
