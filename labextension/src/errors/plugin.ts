/**
 * The plugin that shows the buttons *Fix* and *Explain* below an error in a cell, and adds both as commands.
 *
 * The commands ask a question in the panel, through the panel's own command. The bar with the buttons is in `bar.ts`.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, Notebook, NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator, TranslationBundle } from '@jupyterlab/translation';

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
    new ErrorBars(panel.content, trans, command => void commands.execute(command)).follow();
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
    private readonly run: (command: string) => void
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
    if (!hasError(cell) && cell.node.querySelector('.eca-Help') === null) {
      return;
    }
    const { updateBar } = await import('./bar');
    if (!cell.isDisposed) {
      updateBar(cell, hasError(cell), [
        [
          this.trans.__('Fix'),
          () => {
            this.ask(cell, Command.fix);
          }
        ],
        [
          this.trans.__('Explain'),
          () => {
            this.ask(cell, Command.explain);
          }
        ]
      ]);
    }
  }

  /** Make the cell active and run a command, which asks about the active cell. */
  private ask(cell: CodeCell, command: string): void {
    const index = this.notebook.widgets.indexOf(cell);
    if (index >= 0) {
      this.notebook.activeCellIndex = index;
      this.run(command);
    }
  }
}

/** Whether the output has an error that needs the bar. A cell with our magic does not: it explains its own errors. */
function hasError(cell: CodeCell): boolean {
  const { outputs, sharedModel } = cell.model;
  const types = Array.from({ length: outputs.length }, (_, index) => outputs.get(index).type);
  return types.includes('error') && !/^\s*%{1,2}eca\b/.test(sharedModel.getSource());
}
