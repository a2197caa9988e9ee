/**
 * Shows the rest of an answer in a cell that Lab no longer connects with the kernel.
 *
 * When the page is reloaded, Lab forgets which cell a running request belongs to. When the user deletes a running cell
 * and restores it, Lab forgets which of its outputs later messages replace. In both cases the cell still runs, but what
 * the kernel sends is lost: a cell that waited for an approval says so forever. So this module remembers the request of
 * each answer, also after a reload, and lets `answer_outputs.ts` apply the messages about it to the outputs of the cell.
 *
 * `answer_requests.ts` stores the requests. This module knows no chat.
 */

import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import type { KernelMessage } from '@jupyterlab/services';

import { AnswerOutputs, isEnd } from './answer_outputs';
import { getAnswerCell, setAnswerCell } from './answer_requests';

/** Follows the messages of the kernel of one notebook. */
export class DetachedAnswers {
  /** The ids of the cells by the ids of the requests. Null for a request that is no question of this tab. */
  private readonly cells = new Map<string, string | null>();
  /** The answers that are continued here, by the ids of their requests. */
  private readonly answers = new Map<string, AnswerOutputs>();

  /** The display ids of the outputs that Lab has added to each cell, and can replace. */
  private readonly displays = new WeakMap<CodeCell, Set<string>>();

  constructor(private readonly panel: NotebookPanel) {
    panel.sessionContext.iopubMessage.connect((_, message) => {
      this.receive(message);
    });
  }

  /** Remember the request of a cell that asks the assistant, until it has ended. Called when its outputs change. */
  remember(cell: CodeCell): void {
    const future = getFuture(cell);
    const request = future?.msg.header.msg_id;
    if (!isConnected(cell) || request === undefined || this.findCellId(request) !== null) {
      return;
    }
    this.cells.set(request, cell.model.id);
    setAnswerCell(request, cell.model.id);
    // The promise is rejected when the cell is deleted. The answer may go on then, so its request stays stored. It is
    // also rejected when the kernel dies, which sends no more messages about the request.
    future?.done.then(
      () => {
        setAnswerCell(request, null);
      },
      () => undefined
    );
  }

  /** If Lab does not pass a message to the cell that has asked, apply it to the outputs of that cell. */
  private receive(message: KernelMessage.IMessage): void {
    const request = 'msg_id' in message.parent_header ? message.parent_header.msg_id : undefined;
    if (request === undefined) {
      return;
    }
    const id = this.findCellId(request);
    const cell = id === null ? undefined : this.panel.content.widgets.find(({ model }) => model.id === id);
    if (cell instanceof CodeCell && !this.isHandledByLab(message, cell)) {
      // To a cell that is connected, Lab adds the new outputs itself, and only the others must be replaced here.
      const answer = this.answers.get(request) ?? new AnswerOutputs(isConnected(cell));
      this.answers.set(request, answer);
      answer.apply(message, cell.model.outputs);
    }
    if (isEnd(message)) {
      this.cells.delete(request);
      this.answers.delete(request);
      if (id !== null) {
        setAnswerCell(request, null);
      }
    }
  }

  /**
   * Return whether Lab applies a message to the outputs of a cell. When a deleted cell has come back, Lab passes the
   * messages to it, but does not know which of its outputs a message replaces.
   */
  private isHandledByLab({ header, content }: KernelMessage.IMessage, cell: CodeCell): boolean {
    if (!isConnected(cell)) {
      return false;
    }
    const { display_id: id = '' } = (content as Partial<KernelMessage.IDisplayDataMsg['content']>).transient ?? {};
    const displays = this.displays.get(cell) ?? new Set();
    if (header.msg_type === 'display_data') {
      this.displays.set(cell, displays.add(id));
    }
    return header.msg_type !== 'update_display_data' || displays.has(id);
  }

  /** Return the id of the cell that has sent a request; null if it is no question of this tab. */
  private findCellId(request: string): string | null {
    let cell = this.cells.get(request);
    if (cell === undefined) {
      cell = getAnswerCell(request);
      this.cells.set(request, cell);
    }
    return cell;
  }
}

/** Return the object by which Lab passes the messages about the running request to a cell; undefined if there is none. */
function getFuture(cell: CodeCell): CodeCell['outputArea']['future'] | undefined {
  // A cell that was never in view has no output area, and one that was not run in this page has no future.
  const area = cell.outputArea as CodeCell['outputArea'] | undefined;
  return area?.future;
}

/** Whether Lab passes messages of the kernel to a cell. */
export function isConnected(cell: CodeCell): boolean {
  return getFuture(cell)?.isDisposed === false;
}
