/**
 * Answers the server's requests about the notebooks that are open in Lab: it lists, reads, edits and runs them. It
 * works on the live notebook, which is the one that the user sees, with the changes that are not saved yet.
 *
 * When a request cannot be carried out, a `Refusal` is thrown, and the assistant's model reads its message. A request
 * to edit has a list of changes. A change inserts, edits, deletes or moves a cell, or restores an earlier version of it
 * (`put`). Changed cells get a mark, which the user sees until the cell is run or edited (`changed_marks.ts`).
 *
 * This module knows no chat. `live_cells.ts` plans and makes the changes, `run_cell.ts` runs a cell.
 */

import type { ISharedCell, YNotebook } from '@jupyter/ydoc';
import { Cell, CodeCell, CodeCellModel, MarkdownCell } from '@jupyterlab/cells';
import {
  INotebookCellExecutor,
  INotebookModel,
  INotebookTracker,
  Notebook,
  NotebookPanel,
  runCell
} from '@jupyterlab/notebook';

import type { Widget } from '@lumino/widgets';

import { NotebookHost } from '../wire/client';
import { readTrustedInstructions } from './instructions';
import { listDiagnostics, parsePath } from './lint';
import { applySteps, NotebookChange, planSteps, Refusal, CellOutline, toNotebookCell } from './live_cells';
import { ChangedMarks } from './changed_marks';
import {
  CellSelection,
  Done,
  EditorGetDiagnosticsParams,
  EditorGetDiagnosticsResult,
  NotebookDocument,
  NotebookEditParams,
  NotebookInfo,
  NotebookListResult,
  NotebookOpenParams,
  NotebookReadOutputsParams,
  NotebookReadOutputsResult,
  NotebookReadParams,
  NotebookRunParams,
  NotebookRunProgressParams,
  NotebookRunResult,
  RunStatus
} from '../wire/protocol';
import { readRange } from './cursor';
import { followOutput } from './follow_output';
import { OutputVersions } from './output_versions';
import { waitForKernel, runToEnd, readStates } from './run_cell';

/** The parts of Lab that the assistant uses to find, open and run notebooks. */
export interface LabParts {
  /** The open notebooks. */
  readonly tracker: INotebookTracker;
  /** Opens a file. */
  readonly openPath: (path: string) => Promise<unknown>;
  /** Brings a widget to the front, for example the view of an open notebook. `id` is the id of the widget. */
  readonly reveal: (id: string) => void;
  /** Runs cells, if Lab has another way to run them than its default. */
  readonly executor?: INotebookCellExecutor;
  /** Returns the widget that is in front in Lab's main area. */
  readonly findFrontWidget?: () => Widget | null;
}

/** The open notebooks. A notebook may have several views (`NotebookPanel`), which share one model. */
export class LiveNotebooks implements NotebookHost {
  /** The marks of the cells that the assistant changed. */
  readonly marks = new ChangedMarks();
  /** The versions of the outputs of all cells. */
  private readonly outputVersions = new OutputVersions();
  /** Receives the answers of inline edits. `inline/edit_cells.ts` sets it. */
  receiveRewrite: NotebookHost['receiveRewrite'] = () => undefined;
  /** Called before the assistant opens a notebook, with its path. The panel sets it. */
  onOpen: (path: string) => void = () => undefined;
  /** Runs a cell in Lab's own way, or in the way of another extension. */
  private readonly executor: INotebookCellExecutor;

  constructor(private readonly lab: LabParts) {
    this.executor = lab.executor ?? { runCell };
  }

  /** List the open notebooks, the active one first. */
  list(): NotebookListResult {
    const current = this.lab.tracker.currentWidget?.context.localPath;
    const notebooksByPath = new Map<string, NotebookInfo>();
    for (const panel of this.listPanels()) {
      const path = panel.context.localPath;
      const kernelId = panel.sessionContext.session?.kernel?.id;
      const instructions = readTrustedInstructions(panel);
      notebooksByPath.set(path, {
        path,
        active: path === current,
        language: readLanguage(panel),
        ...(kernelId !== undefined && { kernelId }),
        ...(instructions !== '' && { instructions })
      });
    }
    return {
      notebooks: [...notebooksByPath.values()].sort((left, right) => Number(right.active) - Number(left.active))
    };
  }

  /** Return the cells, the kernel and the selection of a notebook. Throws: Refusal, when it is not open. */
  async read({ path, knownOutputs }: NotebookReadParams): Promise<NotebookDocument> {
    return this.toDocument(await this.waitForPanel(path), knownOutputs);
  }

  /** Return the outputs of cells of a notebook. Throws: Refusal, when it is not open. */
  async readOutputs({ path, cellIds }: NotebookReadOutputsParams): Promise<NotebookReadOutputsResult> {
    const { context } = await this.waitForPanel(path);
    return { cells: this.outputVersions.readOutputs(listSharedCells(context.model), cellIds) };
  }

  /** Make all of the changes or none, and return the notebook after them. Throws: Refusal. */
  async edit({ path, changes, knownOutputs }: NotebookEditParams): Promise<NotebookDocument> {
    const panel = await this.waitForPanel(path);
    const { context } = panel;
    if (context.model.readOnly || context.contentsModel?.writable === false) {
      throw new Refusal(`${path} is read-only`);
    }
    // From here on nothing is awaited, so nobody can change the notebook between the plan and the answer.
    const steps = planSteps(outlineCells(panel), changes);
    const model = context.model.sharedModel as YNotebook;
    const views = this.listPanels().filter(view => view.context === context);
    const restoreFunctions = views.map(({ content }) => rememberView(content));
    this.marks.pauseDuring(() => {
      applySteps(model, steps);
    });
    for (const restore of restoreFunctions) {
      restore();
    }
    // Lab does the same when a user deletes cells. It sends the ids to the kernel with the next run of a cell.
    context.model.deletedCells.push(...steps.flatMap(step => (step.kind === 'delete' ? [step.id] : [])));
    this.updateMarks(views, changes);
    restoreDirtyState(panel, changes);
    return this.toDocument(panel, knownOutputs);
  }

  /**
   * Run cells one after the other, and return them with their outputs. A failed cell ends the run, unless its tag
   * allows it to fail. While the cells run, `onProgress` is called with their output, if `runId` is not empty. When
   * `signal` aborts, the running cell is interrupted and no other is run.
   *
   * Throws: Refusal.
   */
  async run(
    { path, cellIds, runId }: NotebookRunParams,
    signal: AbortSignal,
    onProgress: (progress: NotebookRunProgressParams) => void
  ): Promise<NotebookRunResult> {
    const panel = await this.waitForPanel(path);
    // If one of the cells is gone, none is run.
    for (const id of cellIds) {
      findCell(panel, id);
    }
    await waitForKernel(panel.sessionContext);
    const ranCellIds: string[] = [];
    let status: RunStatus = 'ok';
    for (const id of cellIds) {
      if (signal.aborted) {
        status = 'interrupted';
        break;
      }
      const cell = findCell(panel, id);
      ranCellIds.push(id);
      const stopFollowing =
        runId === ''
          ? undefined
          : followOutput(cell, text => {
              onProgress({ runId, cellId: id, text });
            });
      const outcome = await this.marks
        .pauseDuring(() => runToEnd(panel, cell, this.executor, signal))
        .finally(stopFollowing);
      if (outcome !== 'ok' && !(outcome === 'error' && mayFail(cell))) {
        status = outcome;
        break;
      }
    }
    const states = readStates(panel.content);
    const cellsById = new Map(listSharedCells(panel.context.model).map(cell => [cell.id, cell]));
    const ranCells = ranCellIds.flatMap(id => cellsById.get(id) ?? []);
    return { status, ran: ranCells.map(cell => toNotebookCell(cell, states.get(cell.id))) };
  }

  /** Open a notebook or bring it to the front, and scroll to a cell. Throws: Refusal. */
  async open({ path, cellId }: NotebookOpenParams): Promise<Done> {
    const openPanel = this.findPanel(path);
    if (openPanel === undefined) {
      this.onOpen(path);
      await this.lab.openPath(path);
    } else if (!openPanel.isVisible) {
      // A visible notebook is left where it is: bringing it to the front takes the focus from a user who types
      // elsewhere.
      this.lab.reveal(openPanel.id);
    }
    const panel = await this.waitForPanel(path);
    if (cellId !== undefined) {
      await panel.revealed;
      await panel.content.scrollToCell(findCell(panel, cellId));
    }
    return {};
  }

  /** Write a text that the user has approved into a cell. This is one step to undo, and sets no mark. */
  writeSource(cell: ISharedCell, source: string): void {
    this.marks.pauseDuring(() => {
      applySteps(cell.notebook as YNotebook, [{ kind: 'source', id: cell.id, source }]);
    });
  }

  /** Return the diagnostics of one notebook or, without a URI, of all. Only open notebooks have diagnostics. */
  getDiagnostics({ uri }: EditorGetDiagnosticsParams): EditorGetDiagnosticsResult {
    const paths = uri === undefined ? this.list().notebooks.map(({ path }) => path) : [parsePath(uri)];
    const panels = paths.flatMap(path => (path === undefined ? [] : [this.findPanel(path)]));
    const openPanels = panels.flatMap(panel => (panel === undefined ? [] : [panel]));
    return { diagnostics: openPanels.flatMap(({ context, content }) => listDiagnostics(context.localPath, content)) };
  }

  /** Return all views of all open notebooks. */
  private listPanels(): NotebookPanel[] {
    return this.lab.tracker.filter(panel => !panel.isDisposed && !panel.context.isDisposed);
  }

  /**
   * Return a view of the notebook: the view in front, if that shows the notebook, otherwise any other view of it.
   * Undefined when the notebook is not open.
   */
  private findPanel(path: string): NotebookPanel | undefined {
    const views = this.listPanels().filter(({ context }) => context.localPath === path);
    return views.find(view => view === this.lab.tracker.currentWidget) ?? views[0];
  }

  /** Return a view of the notebook when it is loaded. Throws: Refusal, when the notebook is not open. */
  private async waitForPanel(path: string): Promise<NotebookPanel> {
    const panel = this.findPanel(path);
    await panel?.context.ready;
    if (panel === undefined || panel.isDisposed || panel.content.model === null) {
      throw new Refusal(`${path} is not open in JupyterLab`);
    }
    return panel;
  }

  /**
   * Return the notebook as the server reads it. `knownOutputs` is the highest version of outputs that the server has
   * seen. If it is undefined, all outputs are in the answer, without versions.
   */
  private toDocument(panel: NotebookPanel, knownOutputs: number | undefined): NotebookDocument {
    const { context, content, sessionContext } = panel;
    const kernel = sessionContext.session?.kernel;
    const active = content.activeCell?.model.id;
    const selection = readSelection(content);
    const states = readStates(content);
    const cells = listSharedCells(context.model);
    return {
      path: context.localPath,
      ...(knownOutputs === undefined
        ? { cells: cells.map(cell => toNotebookCell(cell, states.get(cell.id))) }
        : this.outputVersions.convertCells(cells, states, knownOutputs)),
      language: readLanguage(panel),
      ...(kernel && { kernelId: kernel.id, kernelStatus: kernel.status }),
      ...(active !== undefined && { activeCellId: active }),
      ...(selection !== undefined && { selection })
    };
  }

  /** Mark the changed cells. Cells that were restored by `put` lose their marks. */
  private updateMarks(views: readonly NotebookPanel[], changes: readonly NotebookChange[]): void {
    for (const change of changes) {
      const id = 'cell' in change ? change.cell.id : change.cellId;
      for (const cell of views.flatMap(({ content }) => content.widgets.filter(({ model }) => model.id === id))) {
        if (change.kind === 'put') {
          this.marks.remove(cell);
        } else {
          this.marks.add(cell);
        }
      }
    }
  }
}

/** Return the cells of a notebook. */
function listSharedCells({ sharedModel }: INotebookModel): readonly ISharedCell[] {
  return sharedModel.cells;
}

/** Return the name of the notebook's language, for example `python`; empty when it is not known. */
function readLanguage({ context }: NotebookPanel): string {
  const { language_info, kernelspec } = context.model.sharedModel.metadata;
  // Until a kernel has started, Lab gives the language an empty name.
  const languageName = language_info?.name ?? '';
  return languageName === '' && typeof kernelspec?.language === 'string' ? kernelspec.language : languageName;
}

/**
 * Return the selection in the active cell. A cell that was never visible has no editor: then the result is undefined.
 */
function readSelection({ activeCell }: Notebook): CellSelection | undefined {
  const editor = activeCell?.editor;
  if (!activeCell || !editor) {
    return undefined;
  }
  const { start, end } = editor.getSelection();
  const source = activeCell.model.sharedModel.getSource();
  return {
    cellId: activeCell.model.id,
    range: readRange(editor),
    text: source.slice(editor.getOffsetAt(start), editor.getOffsetAt(end))
  };
}

/** Return the properties of the cells that a plan of changes depends on. */
function outlineCells({ content }: NotebookPanel): CellOutline[] {
  return content.widgets.map(({ model }) => ({
    id: model.id,
    cellType: model.type,
    source: model.sharedModel.getSource(),
    running: model instanceof CodeCellModel && model.executionState === 'running',
    editable: model.getMetadata('editable') !== false,
    deletable: model.getMetadata('deletable') !== false
  }));
}

/**
 * Set for each cell that was restored by `put` whether it was edited after its last run. Lab cannot know this. The
 * server sends it with the change.
 */
function restoreDirtyState({ content }: NotebookPanel, changes: readonly NotebookChange[]): void {
  for (const change of changes) {
    const state = change.kind === 'put' ? change.cell.state : undefined;
    if (change.kind === 'put' && (state === 'ran' || state === 'edited')) {
      const model = content.widgets.find(cell => cell.model.id === change.cell.id)?.model;
      if (model instanceof CodeCellModel) {
        model.isDirty = state === 'edited';
      }
    }
  }
}

/** Return the view of a cell. Throws: Refusal, when the cell is gone. */
function findCell({ content }: NotebookPanel, id: string): Cell {
  const cell = content.widgets.find(({ model }) => model.id === id);
  if (cell === undefined) {
    throw new Refusal(`cell ${id} is gone`);
  }
  return cell;
}

/** Whether the cell has Jupyter's tag for cells whose failure does not stop the cells after them. */
function mayFail({ model }: Cell): boolean {
  const tags: unknown = model.getMetadata('tags');
  return Array.isArray(tags) && tags.includes('raises-exception');
}

/**
 * Remember the state that each cell has only in the view (see `readView`), and return a function that restores it. This
 * state is lost when a cell is moved, because a move is a deletion and an insertion in the model.
 */
function rememberView(notebook: Notebook): () => void {
  const active = notebook.activeCell?.model.id;
  const before = new Map(notebook.widgets.map(cell => [cell.model.id, { cell, view: readView(cell) }]));
  return () => {
    for (const cell of notebook.widgets) {
      const old = before.get(cell.model.id);
      if (old !== undefined && old.cell !== cell) {
        if (cell instanceof CodeCell) {
          (cell.model as CodeCellModel).isDirty = old.view.dirty;
        } else if (cell instanceof MarkdownCell) {
          cell.rendered = old.view.rendered;
        }
      }
    }
    const index = notebook.widgets.findIndex(({ model }) => model.id === active);
    if (index >= 0 && index !== notebook.activeCellIndex) {
      notebook.activeCellIndex = index;
    }
  };
}

/** Return whether a code cell was edited after its last run, and whether a Markdown cell is rendered. */
function readView(cell: Cell): { readonly dirty: boolean; readonly rendered: boolean } {
  return {
    dirty: cell instanceof CodeCell && cell.model.isDirty,
    rendered: !(cell instanceof MarkdownCell) || cell.rendered
  };
}
