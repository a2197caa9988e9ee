/**
 * A link to the engine through the comm of a widget. What the kernel sends to a model reaches every page that shows the
 * model, so each page chooses a name for its own channel and ignores all others.
 *
 * The page sends `open`; the kernel answers `opened`, with the chat of the notebook's cells, or `closed`. Then both send
 * `messages`, until one of them closes. `ping` asks whether the page still exists. Knows no ECA message: `wire/rpc.ts`
 * reads them. The kernel's end is `jupyter_eca/apps/kernel/panel/multi_page_widget.py`.
 */

import { Link, LinkError } from '../wire/rpc';
import { WidgetModel } from './model';

/** A message of the kernel. Each has some of these fields. */
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
  /** The chat of the notebook's cells, or the one that the panel was opened with. */
  readonly chat: string;
  readonly resumed: boolean;
}

/** Open a channel. `onSilence` is called when the kernel has not answered for a while: it may be busy, or gone. */
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

/** An idle kernel answers within milliseconds; for its first answer it imports modules, which takes a second or two. */
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

  /** Send a message. A model without a kernel throws; then the link is closed. */
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
