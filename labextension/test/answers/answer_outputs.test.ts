/** What a kernel sends about an answer after its page was reloaded comes to the outputs that were saved. */

import type { ICodeCellModel } from '@jupyterlab/cells';
import type { IOutput } from '@jupyterlab/nbformat';
import { expect, test } from 'vitest';

import { AnswerOutputs, OutputMessage } from '../../src/answers/answer_outputs';

/** Outputs as JupyterLab's model has them, of which only the data are looked at. */
class SavedOutputs {
  constructor(readonly list: IOutput[]) {}
  get length(): number {
    return this.list.length;
  }
  get(index: number): ReturnType<ICodeCellModel['outputs']['get']> {
    const { data = {}, metadata = {} } = this.list[index] as { data?: object; metadata?: object };
    return { data, metadata } as ReturnType<ICodeCellModel['outputs']['get']>;
  }
  add(output: IOutput): number {
    return this.list.push(output);
  }
  set(index: number, output: IOutput): void {
    this.list[index] = output;
  }
  clear(): void {
    this.list.length = 0;
  }
}

function display(data: Record<string, string>, metadata = {}): IOutput {
  return { output_type: 'display_data', data, metadata };
}

/** A message that replaces the display `id`. */
function update(id: string, data: Record<string, string>): OutputMessage {
  return {
    header: { msg_type: 'update_display_data' },
    content: { data, metadata: {}, transient: { display_id: id } }
  };
}

const ANSWER = display({ 'text/markdown': 'waits for your approval', 'text/plain': 'waits' });
const FIGURE = display({ 'image/png': 'AAAA' });
const CARD = display({ 'text/plain': 'run_code waits' }, { jupyter_eca: { waiting: true, chat: 'c' } });

function apply(saved: IOutput[], ...messages: OutputMessage[]): IOutput[] {
  const outputs = new SavedOutputs([...saved]);
  const answer = new AnswerOutputs();
  messages.forEach(message => {
    answer.apply(message, outputs);
  });
  return outputs.list;
}

function dataOf(outputs: IOutput[]): unknown[] {
  return outputs.map(output => output.data ?? output.text);
}

test('the answer and its card take their places again, and what else was saved stays', () => {
  const outputs = apply(
    [ANSWER, FIGURE, CARD],
    update('card', { 'text/plain': '' }),
    update('answer', { 'text/markdown': 'running' }),
    update('answer', { 'text/markdown': 'done' })
  );
  expect(dataOf(outputs)).toEqual([{ 'text/markdown': 'done' }, FIGURE.data, { 'text/plain': '' }]);
});

test('outputs without a card may be those of an earlier run, and are replaced', () => {
  const outputs = apply(
    [display({ 'text/markdown': 'last week' }), FIGURE],
    update('card', { 'text/plain': '' }),
    update('answer', { 'text/markdown': 'so far' }),
    update('answer', { 'text/markdown': 'done' })
  );
  expect(dataOf(outputs)).toEqual([{ 'text/markdown': 'done' }]);
});

test('where Lab adds the outputs, only those that it has forgotten are replaced', () => {
  const outputs = new SavedOutputs([ANSWER, FIGURE]);
  const answer = new AnswerOutputs(true);
  answer.apply(update('answer', { 'text/markdown': 'done' }), outputs);
  answer.apply(update('other', { 'text/html': 'new' }), outputs);
  expect(dataOf(outputs.list)).toEqual([{ 'text/markdown': 'done' }, FIGURE.data]);
});

test('a message that shows nothing leaves the saved outputs as they are', () => {
  expect(apply([FIGURE], { header: { msg_type: 'status' }, content: { execution_state: 'idle' } })).toEqual([FIGURE]);
});

test('printed text, figures and errors follow the answer', () => {
  const outputs = apply(
    [ANSWER, CARD],
    { header: { msg_type: 'display_data' }, content: { data: { 'image/png': 'BBBB' }, metadata: {}, transient: {} } },
    { header: { msg_type: 'stream' }, content: { name: 'stdout', text: 'printed' } },
    { header: { msg_type: 'status' }, content: { execution_state: 'idle' } }
  );
  expect(dataOf(outputs)).toEqual([ANSWER.data, CARD.data, { 'image/png': 'BBBB' }, 'printed']);
});
