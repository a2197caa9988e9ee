/**
 * Follows the output of a cell while it runs, and reports its last part.
 *
 * Knows no server: `live_notebooks.ts` sends the reports.
 */

import { Cell, CodeCell } from '@jupyterlab/cells';
import type { IOutputModel } from '@jupyterlab/rendermime';

/** Ten times a second is as much as a reader of text that grows can see; twice that the server is told nothing new. */
const EVERY_MS = 200;

/** Characters of the end: a card shows a few lines of them. */
const TAIL = 4000;

/** Tells that it begins, and then the end of its outputs as they change, until the returned function is called. */
export function followOutput(cell: Cell, onText: (text: string) => void): () => void {
  onText('');
  if (!(cell instanceof CodeCell)) {
    return () => undefined;
  }
  const { outputs } = cell.model;
  let waiting: number | undefined;
  const changed = (): void => {
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      onText(readTail(outputs));
    }, EVERY_MS);
  };
  outputs.changed.connect(changed);
  return () => {
    window.clearTimeout(waiting);
    outputs.changed.disconnect(changed);
    if (!outputs.isDisposed) {
      onText(readTail(outputs));
    }
  };
}

/** From the last output backwards, no more of it than is told: a log may be of any size. */
function readTail(outputs: { readonly length: number; get(index: number): IOutputModel }): string {
  let text = '';
  for (let index = outputs.length - 1; index >= 0 && text.length < TAIL; index--) {
    text = readText(outputs.get(index)) + text;
  }
  return text.slice(-TAIL);
}

function readText(output: IOutputModel): string {
  if (output.streamText !== undefined) {
    return output.streamText.text.slice(-TAIL);
  }
  const { traceback } = output.toJSON();
  const plain = Array.isArray(traceback) ? traceback.join('\n') : output.data['text/plain'];
  return typeof plain === 'string' ? `${plain.slice(-TAIL)}\n` : '';
}
