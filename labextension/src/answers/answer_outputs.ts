/**
 * Applies the messages of a kernel about an answer to the outputs of its cell, as they were saved. Pure.
 *
 * `detached_answers.ts` passes the messages that Lab does not pass to the cell.
 */

import type { ICodeCellModel } from '@jupyterlab/cells';
import type { IOutput } from '@jupyterlab/nbformat';
import type { KernelMessage } from '@jupyterlab/services';

import { findWaitingCard } from './waiting_cards';

/** The outputs of a cell, as far as they are used here. */
type Outputs = Pick<ICodeCellModel['outputs'], 'length' | 'get' | 'add' | 'set' | 'clear'>;

/** A message of the kernel about a request. */
export type OutputMessage = Pick<KernelMessage.IMessage, 'content'> & {
  readonly header: Pick<KernelMessage.IMessage['header'], 'msg_type'>;
};

/** The types of messages that change outputs. */
const CHANGING_TYPES: ReadonlySet<string> = new Set([
  'display_data',
  'update_display_data',
  'stream',
  'error',
  'execute_result',
  'clear_output'
]);

/** Whether a message is the last one about its request. */
export function isEnd({ header, content }: OutputMessage): boolean {
  return header.msg_type === 'status' && (content as { execution_state?: string }).execution_state === 'idle';
}

/** Applies the messages of one answer. */
export class AnswerOutputs {
  /** The indexes of the outputs by their display ids, by which the kernel replaces them. */
  private readonly displays = new Map<string, number>();
  /** Whether a message has changed the outputs. */
  private isBegun = false;

  /** `onlyReplaces`: Lab adds the new outputs. Only those that it does not know any more are replaced here. */
  constructor(private readonly onlyReplaces = false) {}

  /** Apply a message to the outputs. Before the first one, the outputs are those that were saved. */
  apply({ header, content }: OutputMessage, outputs: Outputs): void {
    if (!CHANGING_TYPES.has(header.msg_type)) {
      return;
    }
    // Without a card that waits, the saved outputs may be those of an earlier run. The text of the answer comes again as
    // a whole, so they are removed.
    if (!this.isBegun && !this.onlyReplaces && findWaitingCard(outputs) === undefined) {
      outputs.clear();
    }
    this.isBegun = true;
    switch (header.msg_type) {
      case 'display_data':
      case 'update_display_data':
        this.display(content as KernelMessage.IDisplayDataMsg['content'], outputs);
        break;
      case 'stream':
      case 'error':
      case 'execute_result':
        outputs.add({ ...content, output_type: header.msg_type });
        break;
      case 'clear_output':
        outputs.clear((content as KernelMessage.IClearOutputMsg['content']).wait);
    }
  }

  /** Replace the output with the display id of a message, or add it. */
  private display(content: KernelMessage.IDisplayDataMsg['content'], outputs: Outputs): void {
    const { data, metadata, transient } = content;
    const displayId = transient?.display_id;
    const index =
      displayId === undefined ? undefined : (this.displays.get(displayId) ?? findSavedOutput(outputs, content));
    if (index === undefined && (this.onlyReplaces || Object.values(data).every(value => value === ''))) {
      // If all values are empty, the kernel empties a card that is not here.
      return;
    }
    const output = { output_type: 'display_data', data, metadata, transient } as IOutput;
    if (index === undefined) {
      outputs.add(output);
    } else {
      outputs.set(index, output);
    }
    if (displayId !== undefined) {
      this.displays.set(displayId, index ?? outputs.length - 1);
    }
  }
}

/**
 * Return the index of the saved output that a message replaces: the text of the answer, or the card. Display ids are not
 * saved, so they are found by what they show. Undefined if there is none.
 */
function findSavedOutput(outputs: Outputs, { data }: KernelMessage.IDisplayDataMsg['content']): number | undefined {
  const card = findWaitingCard(outputs)?.index;
  if (!('text/markdown' in data)) {
    return card;
  }
  for (let index = 0; index < outputs.length; index++) {
    if ('text/markdown' in outputs.get(index).data) {
      return index;
    }
  }
  return undefined;
}
