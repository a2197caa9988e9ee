/**
 * The plugin that shows the buttons *Fix* and *Explain* below an error in a cell, and adds both as commands. Below a
 * question that the assistant could not answer, it shows the buttons that help with that, such as *Try again*.
 *
 * The commands ask a question in the panel, through the panel's own command. The bar with the buttons is in `bar.ts`.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { findSettingsSection, listRemedies, Remedy } from '../view/transcript/remedies';
import { isQuestion, openModelOption } from '../notebook/question_cell';
import { FailureKind, TurnFailure } from '../wire/protocol';
import type { Button } from './bar';

/** Menus and shortcuts in schema/plugin.json use these ids. */
const Command = { fix: 'eca:fix-cell', explain: 'eca:explain-cell' } as const;
const OPEN = 'eca:open-panel';

export const errorsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:helping',
  description: 'Offers help with an error in a notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette],
  activate
};

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  translator: ITranslator | null,
  palette: ICommandPalette | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  const { commands } = app;
  const addCommand = (
    command: string,
    label: string,
    caption: string,
    createQuestion: (cell: number) => string
  ): void => {
    commands.addCommand(command, {
      label,
      caption,
      describedBy: { args: { type: 'object', properties: {} } },
      isEnabled: () => tracker.activeCell !== null,
      execute: async () => {
        const number = (tracker.currentWidget?.content.activeCellIndex ?? -1) + 1;
        if (number > 0) {
          await commands.execute(OPEN, { message: createQuestion(number) });
        }
      }
    });
    palette?.addItem({ command, category: trans.__('Assistant') });
  };
  addCommand(Command.fix, trans.__('Fix this Cell'), trans.__('Ask the assistant to fix the active cell'), cell =>
    trans.__('Fix what is wrong in cell %1.', cell)
  );
  addCommand(
    Command.explain,
    trans.__('Explain this Cell'),
    trans.__('Ask the assistant to explain the active cell'),
    cell => trans.__('Explain what cell %1 does, and its error if it has one. Change nothing.', cell)
  );
  tracker.activeCellChanged.connect(() => {
    Object.values(Command).forEach(command => {
      commands.notifyCommandChanged(command);
    });
  });
  const follow = (panel: NotebookPanel): void => {
    new ErrorBars(panel.content, trans, (command, args) => void commands.execute(command, args)).follow();
  };
  tracker.forEach(follow);
  tracker.widgetAdded.connect((_, panel) => {
    follow(panel);
  });
}

/** Shows the bar in those cells of one notebook whose output is an error. */
class ErrorBars {
  /** The cells whose outputs are followed. */
  private readonly followed = new WeakSet<Cell>();

  constructor(
    private readonly notebook: Notebook,
    private readonly trans: TranslationBundle,
    private readonly run: (command: string, args?: ReadonlyPartialJSONObject) => void
  ) {}

  /** Begin to follow the cells of the notebook, also those of a model that replaces the present one. */
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
    const label = this.trans;
    if (!isQuestion(cell.model.sharedModel.getSource())) {
      return [
        this.createButton(cell, label.__('Fix'), Command.fix),
        this.createButton(cell, label.__('Explain'), Command.explain)
      ];
    }
    const kind = findFailure(cell);
    if (kind === undefined) {
      return [];
    }
    const section = findSettingsSection(kind);
    const buttons: Readonly<Record<Remedy, Button>> = {
      retry: this.createButton(cell, label.__('Try again'), 'notebook:run-cell'),
      signIn: this.createButton(cell, label.__('Sign in'), 'eca:open-settings', { section }),
      model: [label.__('Choose another model'), () => void this.chooseModel(cell)],
      settings: this.createButton(cell, label.__('Open settings'), 'eca:open-settings', { section })
    };
    return listRemedies(kind).map(remedy => buttons[remedy]);
  }

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

  /** Put the cursor where the model is named in the cell, and show the models that there are. */
  private async chooseModel(cell: CodeCell): Promise<void> {
    const { source, start, end } = openModelOption(cell.model.sharedModel.getSource());
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

/** Return why the assistant did not answer in the cell; undefined when it is not the assistant that failed. */
function findFailure(cell: CodeCell): FailureKind | undefined {
  const { outputs } = cell.model;
  const marks = Array.from({ length: outputs.length }, (_, index) => outputs.get(index).metadata.jupyter_eca);
  return (marks as readonly (Mark | undefined)[]).find(mark => mark?.failure !== undefined)?.failure?.kind;
}

/** What the kernel writes into the metadata of an answer's output, as far as it is read here. */
interface Mark {
  readonly failure?: TurnFailure;
}
