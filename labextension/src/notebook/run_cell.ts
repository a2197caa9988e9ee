/**
 * Runs a cell of an open notebook as a user would, and reads the states of cells from Lab.
 *
 * Knows no server: `live_notebooks.ts` answers its requests.
 */

import { ISessionContext } from '@jupyterlab/apputils';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookCellExecutor, KernelError, Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { ISignal, Signal } from '@lumino/signaling';

import { Refusal } from './live_cells';
import { CellState, RunStatus } from '../wire/protocol';

/** Until a kernel that was started with its notebook can be used. */
const START_MS = 60_000;

/** Jupyter's statuses of a kernel that forgets what it was asked. */
const LOST = new Set(['dead', 'autorestarting', 'restarting', 'terminating']);

/** Lab says `running` of a cell from when it is queued: a kernel runs them in the order in which they were sent. */
export function readStates(notebook: Notebook): ReadonlyMap<string, CellState> {
  const code = notebook.widgets.filter(cell => cell instanceof CodeCell);
  const sent = code.filter(({ model }) => model.executionState === 'running');
  const [first] = [...sent].sort((one, other) => readSentTime(one).localeCompare(readSentTime(other)));
  return new Map(
    code.map(cell => {
      const { id, executionState, executionCount, isDirty } = cell.model;
      if (executionState === 'running') {
        return [id, cell === first ? 'running' : 'queued'];
      }
      return [id, executionCount === null ? 'never-run' : isDirty ? 'edited' : 'ran'];
    })
  );
}

function readSentTime(cell: CodeCell): string {
  // Lab's type does not say that there is none before the first run.
  const future = cell.outputArea.future as typeof cell.outputArea.future | null | undefined;
  return future?.msg.header.date ?? '';
}

/** Throws: Refusal, when there is no kernel that could run code now. */
export async function waitForKernel(session: ISessionContext): Promise<void> {
  if (!session.isReady && !session.isTerminating) {
    await Promise.race([session.ready, new Promise(resolve => window.setTimeout(resolve, START_MS))]);
  }
  if (session.isTerminating || session.session?.kernel?.status === 'dead') {
    throw new Refusal('the kernel of this notebook is dead or shutting down: the user can start it anew');
  }
  if (session.hasNoKernel || !session.session?.kernel) {
    throw new Refusal('this notebook has no kernel: the user can choose one at the top right of the notebook');
  }
  if (session.pendingInput) {
    throw new Refusal('the kernel waits for something that the user is asked to type into a cell');
  }
}

/**
 * Runs one cell to its end. Not by `NotebookActions.runCells`: that takes whoever types in the notebook out of the cell.
 *
 * Throws: Refusal, when the kernel or the cell is gone before that, or somebody else runs it anew.
 */
export async function runToEnd(
  panel: NotebookPanel,
  cell: Cell,
  executor: INotebookCellExecutor,
  signal: AbortSignal
): Promise<RunStatus> {
  const notebook = panel.content;
  if (notebook.model === null) {
    throw new Refusal('the notebook was closed');
  }
  const ended = new AbortController();
  const lost = waitForKernelLoss(panel.sessionContext, ended.signal);
  const run = executor.runCell({
    cell,
    notebook: notebook.model,
    notebookConfig: notebook.notebookConfig,
    sessionContext: panel.sessionContext,
    onCellExecutionScheduled: args => {
      emit(NotebookActions.executionScheduled, { notebook, ...args });
    },
    onCellExecuted: args => {
      emit(NotebookActions.executed, { notebook, ...args });
    }
  });
  onAbort(signal, ended.signal, () => {
    interruptWhenRunning(panel, cell, ended.signal);
  });
  let runAgain = false;
  try {
    const done = await Promise.race([run, lost]);
    runAgain = done === false && isRunAgain(cell);
    if (done !== true) {
      throw explainUnfinished(cell, runAgain);
    }
    return signal.aborted ? 'interrupted' : 'ok';
  } catch (error) {
    return readFailure(cell, error, signal);
  } finally {
    ended.abort();
    // As Lab does for a cell that the kernel was sent and did not run.
    if (cell instanceof CodeCell && !cell.isDisposed && cell.model.executionCount === null && !runAgain) {
      cell.model.executionState = 'idle';
    }
  }
}

/** Throws: Refusal, and what is no answer of the kernel's. */
function readFailure(cell: Cell, error: unknown, signal: AbortSignal): RunStatus {
  if (!(error instanceof Error) || !error.message.startsWith('KernelReplyNotOK')) {
    throw error;
  }
  // Aborted, as Jupyter says, has no error: Lab's type does not know of it.
  const { errorName } = error as { errorName?: KernelError['errorName'] };
  if (signal.aborted || errorName === 'KeyboardInterrupt') {
    return 'interrupted';
  }
  if (errorName === undefined) {
    throw new Refusal(`cell ${cell.model.id} was not run: a cell that the kernel ran before it failed`);
  }
  return 'error';
}

/** Lab drops a run for another one of the same cell; with the kernel it drops them all. */
function isRunAgain(cell: Cell): boolean {
  return cell instanceof CodeCell && !cell.isDisposed && !cell.outputArea.future.isDisposed;
}

function explainUnfinished(cell: Cell, runAgain: boolean): Refusal {
  const { id } = cell.model;
  if (runAgain) {
    return new Refusal(`cell ${id} was run anew by somebody else before it had ended: that run goes on`);
  }
  return new Refusal(
    cell.isDisposed
      ? `cell ${id} was deleted while it ran`
      : `the kernel died or was started anew while cell ${id} ran: its variables are gone`
  );
}

/** Once that the kernel forgets what it was asked. */
function waitForKernelLoss(session: ISessionContext, ended: AbortSignal): Promise<'lost'> {
  return new Promise(resolve => {
    const changed = (): void => {
      resolve('lost');
    };
    const status = (_: unknown, now: string): void => {
      if (LOST.has(now)) {
        resolve('lost');
      }
    };
    session.kernelChanged.connect(changed);
    session.statusChanged.connect(status);
    ended.addEventListener('abort', () => {
      session.kernelChanged.disconnect(changed);
      session.statusChanged.disconnect(status);
    });
  });
}

function onAbort(signal: AbortSignal, ended: AbortSignal, call: () => void): void {
  if (signal.aborted) {
    call();
  } else {
    signal.addEventListener('abort', call, { once: true, signal: ended });
  }
}

/** An interrupt hits what runs: as long as this cell is queued, that is something of the user's. */
function interruptWhenRunning(panel: NotebookPanel, cell: Cell, ended: AbortSignal): void {
  const { sessionContext: session, content: notebook } = panel;
  const kernel = session.session?.kernel;
  const done = new AbortController();
  const interruptIfRunning = (): void => {
    if (!ended.aborted && kernel?.status === 'busy' && readStates(notebook).get(cell.model.id) === 'running') {
      done.abort();
      void kernel.interrupt();
    }
  };
  session.statusChanged.connect(interruptIfRunning);
  NotebookActions.executed.connect(interruptIfRunning);
  for (const signal of [ended, done.signal]) {
    signal.addEventListener('abort', () => {
      session.statusChanged.disconnect(interruptIfRunning);
      NotebookActions.executed.disconnect(interruptIfRunning);
    });
  }
  interruptIfRunning();
}

/** What Lab tells of its own runs; its table of contents, for one, shows them. */
function emit<T>(signal: ISignal<unknown, T>, args: T): void {
  (signal as Signal<unknown, T>).emit(args);
}
