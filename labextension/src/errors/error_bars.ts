/**
 * Finds the cells of a notebook whose output is an error. Below each of them it shows a bar with buttons that help:
 * *Fix* and *Explain* below an error of the user's code, and others where the assistant could not answer. Below a
 * question that the kernel does not understand, it offers to load the extension, or to ask in the panel.
 *
 * This module does not know how the bar looks: `bar.ts` draws it.
 */

import { Cell, CodeCell } from '@jupyterlab/cells';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { findSettingsSection, listRemedies, Remedy } from '../view/transcript/remedies';
import { isQuestion, ensureAgentOption, ensureModelOption, readQuestion } from '../notebook/question_cell';
import { TurnFailure } from '../wire/protocol';
import type { ErrorBarContent, Button } from './bar';
import { Command } from './commands';
import { createKeepingLine, findMissingKey } from './missing_key';
import { findMagicHelp } from './unknown_magic';

/** If an outside agent answers, the name of the model begins with this. */
const OUTSIDE_AGENT_PREFIX = 'acp/';

/** Shows the bar in those cells of one notebook whose output is an error. */
export class ErrorBars {
  /** The cells whose outputs are followed. */
  private readonly followed = new WeakSet<Cell>();
  private readonly notebook: Notebook;

  /** `runCommand` runs a command of Lab. */
  constructor(
    private readonly panel: NotebookPanel,
    private readonly trans: TranslationBundle,
    private readonly runCommand: (command: string, args?: ReadonlyPartialJSONObject) => void
  ) {
    this.notebook = panel.content;
  }

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

  /** Show or remove the bar of a cell, as its outputs demand. The module of the bar is loaded with the first error. */
  private async update(cell: CodeCell): Promise<void> {
    if (isEmpty(this.createContent(cell)) && cell.node.querySelector('.eca-Help') === null) {
      return;
    }
    const { updateBar } = await import('./bar');
    if (!cell.isDisposed) {
      updateBar(cell, this.createContent(cell));
    }
  }

  /** Return the content of the bar that helps with the error of a cell; nothing to show when the cell has no error. */
  private createContent(cell: CodeCell): ErrorBarContent {
    const language = this.notebook.model?.defaultKernelLanguage ?? '';
    const hasErrorOutput = hasError(cell);
    const source = cell.model.sharedModel.getSource();
    const help = findMagicHelp(source, { hasError: hasErrorOutput, stderr: readStderr(cell, source) }, language);
    switch (help) {
      case 'load':
        return { buttons: [this.createLoadButton(cell)] };
      case 'ask':
        return {
          text: this.trans.__('%1 works only in Python kernels. This kernel runs %2.', '%eca', language),
          buttons: [this.createAskButton(cell)]
        };
      case undefined:
        return { ...this.explainMissingKey(cell, source), buttons: hasErrorOutput ? this.listButtons(cell) : [] };
    }
  }

  /** Return how the key that an error of the user's code misses gets into kernels; nothing when it misses none. */
  private explainMissingKey(cell: CodeCell, source: string): Pick<ErrorBarContent, 'text' | 'code'> {
    const variable = isQuestion(source) ? undefined : findMissingKey(readErrorMessages(cell));
    if (variable === undefined) {
      return {};
    }
    return {
      text: this.trans.__(
        'Kernels do not get the keys of model providers from the environment of Jupyter. If %1 is one and your code needs it, add this line to ~/.config/eca/config.json, and restart the kernel:',
        variable
      ),
      code: createKeepingLine(variable)
    };
  }

  /** Return the buttons that help with an output that is an error. */
  private listButtons(cell: CodeCell): readonly Button[] {
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
      signIn: this.createButton(cell, trans.__('Sign in or paste a key'), 'eca:open-settings', { section }),
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
          this.runCommand(command, args);
        }
      }
    ];
  }

  /** Return the button that loads the extension in the kernel and runs the cell again. */
  private createLoadButton(cell: CodeCell): Button {
    return [this.trans.__('Load the assistant and run this cell'), () => void this.loadAndRun(cell)];
  }

  /** Return the button that asks the question of the cell in the panel. */
  private createAskButton(cell: CodeCell): Button {
    const ask = (): void => {
      const message = readQuestion(cell.model.sharedModel.getSource());
      if (this.activate(cell)) {
        this.runCommand('eca:open-panel', message === '' ? {} : { message });
      }
    };
    return [this.trans.__('Ask in the panel'), ask];
  }

  /** Load the extension in the kernel, and run the cell again. When it cannot be loaded, the bar says why. */
  private async loadAndRun(cell: CodeCell): Promise<void> {
    const { trans } = this;
    this.activate(cell);
    const [{ updateBar, focusBar }, { loadExtension, INSTALL_LINE }] = await Promise.all([
      import('./bar'),
      import('../notebook/load_extension')
    ]);
    // The bar has no buttons now, so that the cell cannot run twice. The kernel may be busy for long.
    updateBar(cell, { text: trans.__('Loading the assistant in this kernel…'), buttons: [] });
    const { sessionContext } = this.panel;
    await sessionContext.ready;
    const kernel = sessionContext.session?.kernel;
    const result = kernel ? await loadExtension(kernel) : ({ kind: 'cancelled' } as const);
    if (cell.isDisposed) {
      return;
    }
    const buttons = [this.createLoadButton(cell), this.createAskButton(cell)];
    switch (result.kind) {
      case 'loaded':
        if (document.activeElement === document.body) {
          this.notebook.activate();
        }
        // Lab's command is not used: it would run a cell of another notebook, if the user has opened one meanwhile.
        await NotebookActions.runCells(this.notebook, [cell], sessionContext);
        return;
      case 'missing':
        updateBar(cell, {
          text: trans.__(
            'The environment of this kernel does not have the assistant. To install it, run this line in a cell, and then load the assistant:'
          ),
          code: INSTALL_LINE,
          buttons
        });
        break;
      case 'failed':
        updateBar(cell, {
          text: trans.__('The assistant could not be loaded in this kernel: %1', result.error),
          buttons
        });
        break;
      case 'cancelled':
        await this.update(cell);
    }
    focusBar(cell);
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
   * Lab's completer, which lists the names. `ensureOption` returns the source with the option, which it adds if it is
   * missing, and the place of the name.
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
    this.runCommand('completer:invoke-notebook');
  }
}

/** Whether a bar shows nothing. */
function isEmpty({ text, buttons }: ErrorBarContent): boolean {
  return text === undefined && buttons.length === 0;
}

/** Return what a cell that may ask the assistant printed to `stderr`; empty for other cells, which are not read. */
function readStderr(cell: CodeCell, source: string): string {
  if (!source.includes('%eca')) {
    return '';
  }
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, index) => outputs.get(index))
    .filter(({ type }) => type === 'stream')
    .map(output => output.toJSON())
    .filter(({ name }) => name === 'stderr')
    .flatMap(({ text }) => text as string | string[])
    .join('');
}

/** Return the messages of the errors in a cell, without their tracebacks. */
function readErrorMessages(cell: CodeCell): readonly string[] {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, index) => outputs.get(index))
    .filter(({ type }) => type === 'error')
    .map(output => output.toJSON().evalue)
    .filter(message => typeof message === 'string');
}

/** Whether an output of the cell is an error. */
function hasError(cell: CodeCell): boolean {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, index) => outputs.get(index).type).includes('error');
}

/** Return the failure because of which the assistant did not answer in the cell; undefined when there is none. */
function findFailure(cell: CodeCell): TurnFailure | undefined {
  const { outputs } = cell.model;
  const allMetadata = Array.from({ length: outputs.length }, (_, index) => outputs.get(index).metadata.jupyter_eca);
  return (allMetadata as readonly (AnswerMetadata | undefined)[]).find(entry => entry?.failure !== undefined)?.failure;
}

/** The metadata that the kernel adds to the output of an answer. Only the field that is used here is declared. */
interface AnswerMetadata {
  readonly failure?: TurnFailure;
}
