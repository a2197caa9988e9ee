/**
 * Follows the output of a cell while it runs, and reports its last part.
 *
 * This module knows no server: `live_notebooks.ts` sends the reports to the server.
 */

import { Cell, CodeCell } from '@jupyterlab/cells';
import type { IOutputModel } from '@jupyterlab/rendermime';

/** The pause between two reports, in milliseconds. Five reports a second are enough: a reader hardly sees more. */
const PAUSE_MS = 200;

/** The most characters that are reported, from the end of the output. A card shows a few lines of them. */
const TAIL_LENGTH = 4000;

/**
 * Report an empty text at once, which shows that this cell runs now, and then the end of the outputs whenever they
 * change. The returned function reports once more, and ends the reports.
 */
export function followOutput(cell: Cell, onText: (text: string) => void): () => void {
  onText('');
  if (!(cell instanceof CodeCell)) {
    return () => undefined;
  }
  const { outputs } = cell.model;
  /** The timer of the next report; undefined when none is planned. */
  let timer: number | undefined;
  const handleChange = (): void => {
    timer ??= window.setTimeout(() => {
      timer = undefined;
      onText(readTail(outputs));
    }, PAUSE_MS);
  };
  // Text that is added to a stream, or replaces a line of it, changes only the stream and not the list of outputs.
  // So the text of the last output is followed, too, if it is a stream.
  let stream: IOutputModel['streamText'];
  const followLast = (): void => {
    const last = outputs.length === 0 ? undefined : outputs.get(outputs.length - 1).streamText;
    if (last !== stream) {
      stream?.changed.disconnect(handleChange);
      stream = last;
      stream?.changed.connect(handleChange);
    }
    handleChange();
  };
  outputs.changed.connect(followLast);
  return () => {
    window.clearTimeout(timer);
    outputs.changed.disconnect(followLast);
    stream?.changed.disconnect(handleChange);
    if (!outputs.isDisposed) {
      onText(readTail(outputs));
    }
  };
}

/** Return the end of the outputs. Only as much as is reported is read, because a log may have any size. */
function readTail(outputs: { readonly length: number; get(index: number): IOutputModel }): string {
  let text = '';
  for (let index = outputs.length - 1; index >= 0 && text.length < TAIL_LENGTH; index--) {
    text = readText(outputs.get(index)) + text;
  }
  return text.slice(-TAIL_LENGTH);
}

/** Return an output as plain text: a stream, a traceback, or the text of a result. Images and others are empty. */
function readText(output: IOutputModel): string {
  if (output.streamText !== undefined) {
    return output.streamText.text.slice(-TAIL_LENGTH);
  }
  const { traceback } = output.toJSON();
  const plain = Array.isArray(traceback) ? traceback.join('\n') : output.data['text/plain'];
  return typeof plain === 'string' ? `${plain.slice(-TAIL_LENGTH)}\n` : '';
}
