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
interface KernelMessage {
  readonly channel?: string;
  readonly opened?: true;
  readonly chat?: string;
  readonly resumed?: boolean;
  readonly messages?: readonly unknown[];
  readonly closed?: true;
  readonly why?: string;
  readonly ping?: true;
}

export interface OpenChannel {
  readonly link: Link;
  /** Where the cells of the notebook ask, or the chat that the panel was asked to go on with. */
  readonly chat: string;
  readonly resumed: boolean;
}

/** `silent` is called when the kernel has not answered for a while: it may be at work, or gone. */
export function openChannel(
  model: WidgetModel,
  channel: string,
  callLater: (call: () => void, ms: number) => () => void,
  onSilence: () => void
): Promise<OpenChannel> {
  return new Promise((resolve, reject) => {
    const link = new ChannelLink(model, channel);
    const waiting = callLater(onSilence, PATIENCE_MS);
    link.onSettled = (told, error) => {
      waiting();
      if (told === undefined) {
        reject(error ?? new LinkError('the kernel is gone'));
      } else {
        resolve({ link, chat: told.chat ?? '', resumed: told.resumed === true });
      }
    };
    link.sendToKernel({ open: true });
  });
}

/** A kernel answers within milliseconds when it is at rest; its first answer imports for a second or two. */
const PATIENCE_MS = 4000;

class ChannelLink implements Link {
  onSettled: (told: KernelMessage | undefined, error?: Error) => void = () => undefined;
  private received?: (text: string) => void;
  private closed?: () => void;
  private ended = false;

  constructor(
    private readonly model: WidgetModel,
    private readonly channel: string
  ) {
    model.on('msg:custom', this.receive);
    model.on('comm_live_update', this.handleLoss);
    model.on('destroy', this.handleLoss);
  }

  send(text: string): void {
    this.sendToKernel({ messages: [JSON.parse(text)] });
  }

  /** A model whose kernel is gone refuses to send: then the link is closed. */
  sendToKernel(message: object): void {
    try {
      this.model.send({ channel: this.channel, ...message });
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
      this.sendToKernel({ close: true });
      this.end();
    }
  }

  private readonly receive = (message: KernelMessage): void => {
    if (message.channel !== this.channel) {
      return;
    }
    if (message.opened === true) {
      this.onSettled(message);
    }
    for (const text of message.messages ?? []) {
      this.received?.(JSON.stringify(text));
    }
    if (message.ping === true) {
      this.sendToKernel({});
    }
    if (message.closed === true) {
      this.end(message.why === undefined ? undefined : new Error(message.why));
    }
  };

  private readonly handleLoss = (): void => {
    this.end();
  };

  private end(error?: Error): void {
    if (this.ended) {
      return;
    }
    this.ended = true;
    this.model.off('msg:custom', this.receive);
    this.model.off('comm_live_update', this.handleLoss);
    this.model.off('destroy', this.handleLoss);
    this.onSettled(undefined, error);
    this.closed?.();
  }
}
