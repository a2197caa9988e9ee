/**
 * Finds the cells of a notebook whose output is an error. Below each of them it shows a bar with buttons that help:
 * *Fix* and *Explain* below an error of the user's code, and others where the assistant could not answer.
 *
 * This module does not know how the bar looks: `bar.ts` draws it.
 */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { Notebook } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { findSettingsSection, listRemedies, Remedy } from '../view/transcript/remedies';
import { isQuestion, ensureAgentOption, ensureModelOption } from '../notebook/question_cell';
import { TurnFailure } from '../wire/protocol';
import type { Button } from './bar';
import { Command } from './commands';

/** If an outside agent answers, the name of the model begins with this. */
const OUTSIDE_AGENT_PREFIX = 'acp/';

/** Shows the bar in those cells of one notebook whose output is an error. */
export class ErrorBars {
  /** The cells whose outputs are followed. */
  private readonly followed = new WeakSet<Cell>();

  /** `run` runs a command of Lab. */
  constructor(
    private readonly notebook: Notebook,
    private readonly trans: TranslationBundle,
    private readonly run: (command: string, args?: ReadonlyPartialJSONObject) => void
  ) {}

  /** Begin to follow the cells of the notebook, also those of a notebook model that replaces the present one. */
  follow(): void {
    const followModel = (): void => {
      this.notebook.model?.cells.changed.connect(() => {
        this.followNewCells();
      });
      this.followNewCells();
    };
    this.notebook.modelChanged.connect(followModel);
    followModel();
  }

  /** Follow the outputs of all cells that are not followed yet. */
  private followNewCells(): void {
    for (const cell of this.notebook.widgets) {
      if (cell instanceof CodeCell && !this.followed.has(cell)) {
        this.followed.add(cell);
        const update = (): void => {
          void this.update(cell);
        };
        cell.model.outputs.changed.connect(update);
        void cell.ready.then(update, () => undefined);
      }
    }
  }

  /** Show or remove the bar of a cell. The module of the bar is loaded with the first error. */
  private async update(cell: CodeCell): Promise<void> {
    if (this.listButtons(cell).length === 0 && cell.node.querySelector('.eca-Help') === null) {
      return;
    }
    const { updateBar } = await import('./bar');
    if (!cell.isDisposed) {
      updateBar(cell, this.listButtons(cell));
    }
  }

  /** Return the buttons that help with the error of a cell; none when the cell has no error. */
  private listButtons(cell: CodeCell): readonly Button[] {
    if (!hasError(cell)) {
      return [];
    }
    const { trans } = this;
    if (!isQuestion(cell.model.sharedModel.getSource())) {
      return [
        this.createButton(cell, trans.__('Fix'), Command.fix),
        this.createButton(cell, trans.__('Explain'), Command.explain)
      ];
    }
    const failure = findFailure(cell);
    if (failure === undefined) {
      return [];
    }
    const { kind } = failure;
    const section = findSettingsSection(kind);
    const buttons: Readonly<Record<Remedy, Button>> = {
      retry: this.createButton(cell, trans.__('Try again'), 'notebook:run-cell'),
      signIn: this.createButton(cell, trans.__('Sign in'), 'eca:open-settings', { section }),
      model: failure.model.startsWith(OUTSIDE_AGENT_PREFIX)
        ? [trans.__('Choose another agent'), () => void this.chooseName(cell, ensureAgentOption)]
        : [trans.__('Choose another model'), () => void this.chooseName(cell, ensureModelOption)],
      settings: this.createButton(cell, trans.__('Open settings'), 'eca:open-settings', { section })
    };
    return listRemedies(kind).map(remedy => buttons[remedy]);
  }

  /** Return a button that makes the cell active and runs a command of Lab. */
  private createButton(cell: CodeCell, label: string, command: string, args?: ReadonlyPartialJSONObject): Button {
    return [
      label,
      () => {
        if (this.activate(cell)) {
          this.run(command, args);
        }
      }
    ];
  }

  /** Make the cell active. Return whether it is still in the notebook. */
  private activate(cell: CodeCell): boolean {
    const index = this.notebook.widgets.indexOf(cell);
    if (index >= 0) {
      this.notebook.activeCellIndex = index;
    }
    return index >= 0;
  }

  /**
   * Let the user choose a model or an agent in the source of the question: select the name after its option, and open
   * Lab's completer, which lists the names. `ensureOption` finds the name.
   */
  private async chooseName(cell: CodeCell, ensureOption: typeof ensureModelOption): Promise<void> {
    const { source, start, end } = ensureOption(cell.model.sharedModel.getSource());
    if (!this.activate(cell)) {
      return;
    }
    cell.model.sharedModel.setSource(source);
    this.notebook.deselectAll();
    await cell.ready;
    this.notebook.mode = 'edit';
    cell.editor?.focus();
    cell.editor?.setSelection({ start: { line: 0, column: start }, end: { line: 0, column: end } });
    this.run('completer:invoke-notebook');
  }
}

/** Whether an output of the cell is an error. */
function hasError(cell: CodeCell): boolean {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, index) => outputs.get(index).type).includes('error');
}

/** Return the failure because of which the assistant did not answer in the cell; undefined when there is none. */
function findFailure(cell: CodeCell): TurnFailure | undefined {
  const { outputs } = cell.model;
  const marks = Array.from({ length: outputs.length }, (_, index) => outputs.get(index).metadata.jupyter_eca);
  return (marks as readonly (AnswerMetadata | undefined)[]).find(mark => mark?.failure !== undefined)?.failure;
}

/** The metadata that the kernel adds to the output of an answer. Only the field that is used here is declared. */
interface AnswerMetadata {
  readonly failure?: TurnFailure;
}
