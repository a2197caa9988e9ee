/**
 * Opens a link to the engine through the kernel. It uses the comm of a widget, which is the connection between the
 * widget in the page and its model in the kernel. The kernel's messages to a widget model reach every page that shows
 * the widget. So each page chooses an id for its own channel, and ignores the messages of all other channels.
 *
 * The page sends `open`. The kernel answers `opened`, with the chat of the notebook's cells, or `closed`. Then both
 * ends send `messages`, until one of them closes the channel. With `ping` the kernel asks whether the page still
 * exists.
 *
 * This module knows no ECA message: `wire/rpc.ts` reads them. The kernel's end of the channel is
 * `jupyter_eca/apps/kernel/panel/multi_page_widget.py`.
 */

import { Link, LinkError } from '../wire/rpc';
import { WidgetModel } from './anywidget_types';

/**
 * A message of the kernel. Each message has some of these fields. Code of the user can send anything on the comm of a
 * widget, so a field that has another type is ignored.
 */
interface KernelMessage {
  /** The id of the channel for which the message is. */
  readonly channel?: string;
  /** The channel is open. */
  readonly opened?: true;
  /** With `opened`: the id of the chat to show. */
  readonly chat?: string;
  /** With `opened`: whether the user opened the panel with the id of an earlier chat. */
  readonly resumed?: boolean;
  /** Messages of the engine. */
  readonly messages?: readonly unknown[];
  /** The channel is closed, or could not be opened. */
  readonly closed?: true;
  /** With `closed`: the error, if there is one. */
  readonly why?: string;
  /** The page must answer, to show that it still exists. */
  readonly ping?: true;
}

/** A channel that the kernel has opened. */
export interface OpenChannel {
  readonly link: Link;
  /** The id of the chat to show: the chat of the notebook's cells, or the chat that the panel was opened with. */
  readonly chat: string;
  /** Whether the panel was opened with the id of an earlier chat. */
  readonly resumed: boolean;
}

/**
 * Open a channel. `channel` is its id, which the page has chosen. `onSilence` is called when the kernel has not
 * answered for `SILENCE_MS`, because it is busy or gone. The promise may still resolve after that.
 *
 * Throws: LinkError when the kernel is gone, Error when it could not open the channel.
 */
export function openChannel(
  model: WidgetModel,
  channel: string,
  callLater: (call: () => void, ms: number) => () => void,
  onSilence: () => void
): Promise<OpenChannel> {
  return new Promise((resolve, reject) => {
    const link = new ChannelLink(model, channel);
    const cancelSilence = callLater(onSilence, SILENCE_MS);
    link.onSettled = (answer, error) => {
      cancelSilence();
      if (answer === undefined) {
        reject(error ?? new LinkError('the kernel is gone'));
      } else {
        const chat = typeof answer.chat === 'string' ? answer.chat : '';
        resolve({ link, chat, resumed: answer.resumed === true });
      }
    };
    link.sendToKernel({ open: true });
  });
}

/**
 * If the kernel has not answered for this time, in milliseconds, it counts as silent. An idle kernel answers within
 * milliseconds. Before its first answer it imports modules, which takes a second or two.
 */
const SILENCE_MS = 4000;

/** The page's end of a channel. */
class ChannelLink implements Link {
  /** Called with the kernel's answer when the channel is open, and without one when it closes. */
  onSettled: (answer: KernelMessage | undefined, error?: Error) => void = () => undefined;
  /** Called with each message of the engine; undefined until `listen` is called. */
  private onMessage?: (text: string) => void;
  /** Called when the link closes; undefined until `listen` is called. */
  private onClose?: () => void;
  /** Whether the link is closed. */
  private isEnded = false;

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

  /** Send a message. A widget model without a kernel throws; then the link is closed. */
  sendToKernel(message: object): void {
    try {
      this.model.send({ channel: this.channel, ...message });
    } catch {
      this.end();
    }
  }

  listen(onMessage: (text: string) => void, onClose: () => void): void {
    this.onMessage = onMessage;
    this.onClose = onClose;
  }

  close(): void {
    if (!this.isEnded) {
      this.sendToKernel({ close: true });
      this.end();
    }
  }

  /** Handle a message of the kernel, if it is for this channel. */
  private readonly receive = (message: KernelMessage | null): void => {
    if (message?.channel !== this.channel) {
      return;
    }
    if (message.opened === true) {
      this.onSettled(message);
    }
    for (const engineMessage of Array.isArray(message.messages) ? message.messages : []) {
      this.onMessage?.(JSON.stringify(engineMessage));
    }
    if (message.ping === true) {
      this.sendToKernel({});
    }
    if (message.closed === true) {
      this.end(message.why === undefined ? undefined : new Error(message.why));
    }
  };

  /** Called when the widget model was removed, or has lost its comm. */
  private readonly handleLoss = (): void => {
    this.end();
  };

  /** Stop listening to the widget model, and report that the link is closed. */
  private end(error?: Error): void {
    if (this.isEnded) {
      return;
    }
    this.isEnded = true;
    this.model.off('msg:custom', this.receive);
    this.model.off('comm_live_update', this.handleLoss);
    this.model.off('destroy', this.handleLoss);
    this.onSettled(undefined, error);
    this.onClose?.();
  }
}
