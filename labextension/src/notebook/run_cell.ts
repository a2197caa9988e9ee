/**
 * Runs a cell of an open notebook as a user would, and reads the states of cells from Lab.
 *
 * This module knows no server: `live_notebooks.ts` answers the server's requests.
 */

import { ISessionContext } from '@jupyterlab/apputils';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookCellExecutor, KernelError, Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { ISignal, Signal } from '@lumino/signaling';

import { Refusal } from './live_cells';
import { CellState, RunStatus } from '../wire/protocol';

/** How long to wait, in milliseconds, for a kernel that starts when its notebook is opened. */
const KERNEL_START_MS = 60_000;

/** The statuses of a kernel in which the cells that were sent to it will not run any more. */
const LOST_STATUSES = new Set(['dead', 'autorestarting', 'restarting', 'terminating']);

/**
 * Return the state of each code cell, by its id. Lab calls a cell `running` as soon as it is queued. A kernel runs
 * cells in the order in which they were sent, so only the cell that was sent first is running, and the others are
 * queued.
 */
export function readStates(notebook: Notebook): ReadonlyMap<string, CellState> {
  const code = notebook.widgets.filter(cell => cell instanceof CodeCell);
  const sentCells = code.filter(({ model }) => model.executionState === 'running');
  const [firstSent] = [...sentCells].sort((left, right) => readSentTime(left).localeCompare(readSentTime(right)));
  return new Map(
    code.map(cell => {
      const { id, executionState, executionCount, isDirty } = cell.model;
      if (executionState === 'running') {
        return [id, cell === firstSent ? 'running' : 'queued'];
      }
      return [id, executionCount === null ? 'never-run' : isDirty ? 'edited' : 'ran'];
    })
  );
}

/** Return when the last run of a cell was sent to the kernel, as an ISO date. */
function readSentTime(cell: CodeCell): string {
  // Lab calls a run of a cell a future. Before the first run there is none, although Lab's type says otherwise.
  const future = cell.outputArea.future as typeof cell.outputArea.future | null | undefined;
  return future?.msg.header.date ?? '';
}

/** Wait until the kernel can run code. Throws: Refusal, when it is dead or missing, or waits for input of the user. */
export async function waitForKernel(session: ISessionContext): Promise<void> {
  if (!session.isReady && !session.isTerminating) {
    await Promise.race([session.ready, new Promise(resolve => window.setTimeout(resolve, KERNEL_START_MS))]);
  }
  if (session.isTerminating || session.session?.kernel?.status === 'dead') {
    throw new Refusal('the kernel of this notebook is dead or shutting down: the user can restart it');
  }
  if (session.hasNoKernel || !session.session?.kernel) {
    throw new Refusal('this notebook has no kernel: the user can choose one at the top right of the notebook');
  }
  if (session.pendingInput) {
    throw new Refusal('the kernel waits for input: the user must type it into a cell of the notebook');
  }
}

/**
 * Run one cell to its end. `NotebookActions.runCells` is not used, because it takes the focus from a user who types.
 * When `signal` aborts, the cell is interrupted.
 *
 * Throws: Refusal, when the kernel or the cell is gone before the end, or when somebody else runs the cell again.
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
  // Aborts when the run is over, and ends everything that watches the run.
  const ended = new AbortController();
  const kernelLoss = waitForKernelLoss(panel.sessionContext, ended.signal);
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
  callOnAbort(signal, ended.signal, () => {
    interruptWhenRunning(panel, cell, ended.signal);
  });
  let wasRunAgain = false;
  try {
    // True when the cell has run, false when Lab has dropped the run, and 'lost' when the kernel has lost the run.
    const done = await Promise.race([run, kernelLoss]);
    wasRunAgain = done === false && isRunAgain(cell);
    if (done !== true) {
      throw explainUnfinished(cell, wasRunAgain);
    }
    return signal.aborted ? 'interrupted' : 'ok';
  } catch (error) {
    return readFailure(cell, error, signal);
  } finally {
    ended.abort();
    // Lab does the same for a cell that was sent to the kernel and did not run.
    if (cell instanceof CodeCell && !cell.isDisposed && cell.model.executionCount === null && !wasRunAgain) {
      cell.model.executionState = 'idle';
    }
  }
}

/**
 * Return the status of a failed run. Throws: Refusal when the cell did not run. An error that does not come from the
 * kernel is thrown again.
 */
function readFailure(cell: Cell, error: unknown, signal: AbortSignal): RunStatus {
  if (!(error instanceof Error) || !error.message.startsWith('KernelReplyNotOK')) {
    throw error;
  }
  // The reply for a cell that the kernel skipped has no error name, although Lab's type says otherwise.
  const { errorName } = error as { errorName?: KernelError['errorName'] };
  if (signal.aborted || errorName === 'KeyboardInterrupt') {
    return 'interrupted';
  }
  if (errorName === undefined) {
    throw new Refusal(`cell ${cell.model.id} was not run: a cell that the kernel ran before it failed`);
  }
  return 'error';
}

/**
 * Whether a run did not finish because the cell was run again. Then Lab drops the older run, and the cell has a new run
 * (in Lab's words a future). Otherwise the kernel was lost, and the cell has no run any more.
 */
function isRunAgain(cell: Cell): boolean {
  return cell instanceof CodeCell && !cell.isDisposed && !cell.outputArea.future.isDisposed;
}

/** Return the error that says why a run did not come to its end. `wasRunAgain`: somebody else ran the cell again. */
function explainUnfinished(cell: Cell, wasRunAgain: boolean): Refusal {
  const { id } = cell.model;
  if (wasRunAgain) {
    return new Refusal(
      `somebody else ran cell ${id} again before it had ended: that newer run continues. Its result is in the cell ` +
        `when it has ended: read the cell with notebook_read, and do not run it again before that`
    );
  }
  return new Refusal(
    cell.isDisposed
      ? `cell ${id} was deleted while it ran`
      : `the kernel died or was restarted while cell ${id} ran: its variables are gone`
  );
}

/**
 * Resolve when the kernel dies or is replaced, so that it loses its queue of runs. Stop watching when `ended` aborts.
 */
function waitForKernelLoss(session: ISessionContext, ended: AbortSignal): Promise<'lost'> {
  return new Promise(resolve => {
    const handleKernelChange = (): void => {
      resolve('lost');
    };
    const handleStatus = (_: unknown, status: string): void => {
      if (LOST_STATUSES.has(status)) {
        resolve('lost');
      }
    };
    session.kernelChanged.connect(handleKernelChange);
    session.statusChanged.connect(handleStatus);
    ended.addEventListener('abort', () => {
      session.kernelChanged.disconnect(handleKernelChange);
      session.statusChanged.disconnect(handleStatus);
    });
  });
}

/** Call a function when `signal` aborts, or now if it has aborted already, unless `ended` aborts before that. */
function callOnAbort(signal: AbortSignal, ended: AbortSignal, call: () => void): void {
  if (signal.aborted) {
    call();
  } else {
    signal.addEventListener('abort', call, { once: true, signal: ended });
  }
}

/**
 * Interrupt the kernel as soon as this cell runs. While the cell is queued, an interrupt would stop another cell, which
 * the user runs.
 */
function interruptWhenRunning(panel: NotebookPanel, cell: Cell, ended: AbortSignal): void {
  const { sessionContext: session, content: notebook } = panel;
  const kernel = session.session?.kernel;
  // Aborts when the kernel was interrupted, which is done once.
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

/** Emit a signal that Lab emits for its own runs. For example, its table of contents shows which cells are running. */
function emit<T>(signal: ISignal<unknown, T>, args: T): void {
  (signal as Signal<unknown, T>).emit(args);
}
