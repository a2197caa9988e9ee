/** The end of a run that Lab has dropped. Lab's own cells and notebooks need a whole page, so they are left out here. */

import type { ISessionContext } from '@jupyterlab/apputils';
import { CodeCell } from '@jupyterlab/cells';
import type { INotebookCellExecutor, NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';
import { expect, test, vi } from 'vitest';

import { runToEnd } from '../../src/notebook/run_cell';

vi.mock('@jupyterlab/cells', () => ({ CodeCell: vi.fn() }));
vi.mock('@jupyterlab/notebook', () => ({ NotebookActions: {} }));

/** A code cell of which Lab drops the run. `isRunAgain`: because somebody has run the cell again. */
function makeCell(isRunAgain: boolean): CodeCell {
  const fields = {
    isDisposed: false,
    model: { id: 'c01', executionCount: 1 },
    outputArea: { future: { isDisposed: !isRunAgain } }
  };
  return Object.assign(Object.create(CodeCell.prototype) as CodeCell, fields);
}

function makePanel(): NotebookPanel {
  const session = { kernelChanged: new Signal({}), statusChanged: new Signal({}) } as unknown as ISessionContext;
  return { content: { model: {}, notebookConfig: {} }, sessionContext: session } as unknown as NotebookPanel;
}

const DROPS: INotebookCellExecutor = { runCell: () => Promise.resolve(false) };

test('the model is told to read a cell that somebody else runs again, and not to run it', async () => {
  const run = runToEnd(makePanel(), makeCell(true), DROPS, new AbortController().signal);
  await expect(run).rejects.toThrow(/cell c01 again.*notebook_read.*do not run it again/);
});

test('a run that was lost with the kernel names the kernel', async () => {
  const run = runToEnd(makePanel(), makeCell(false), DROPS, new AbortController().signal);
  await expect(run).rejects.toThrow(/kernel.*cell c01/);
});
