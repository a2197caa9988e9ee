/**
 * Adds commands for the changes of the assistant in the active notebook: go to the next or the previous change, keep or
 * undo all changes.
 *
 * The commands are added when the panel is loaded, because no change is known before that. Shortcuts in
 * schema/plugin.json use their ids.
 */

import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';

import type { ReviewController } from './controller';

/** The commands that decide about all changes at once. */
const DECIDING_COMMANDS: ReadonlySet<string> = new Set(['eca:keep-all-changes', 'eca:undo-all-changes']);

/** Add the commands to Lab and to its palette. */
export function addReviewCommands(
  commands: CommandRegistry,
  palette: ICommandPalette | null,
  tracker: INotebookTracker,
  review: ReviewController,
  trans: TranslationBundle
): void {
  // For each command: its label, and the function that it calls with the active notebook.
  const reviewCommands: Readonly<Record<string, readonly [string, (panel: NotebookPanel) => void]>> = {
    'eca:next-change': [trans.__('Go to the Next Change of the Assistant'), panel => void review.goTo(panel, 1)],
    'eca:previous-change': [
      trans.__('Go to the Previous Change of the Assistant'),
      panel => void review.goTo(panel, -1)
    ],
    'eca:keep-all-changes': [trans.__('Keep All Changes in this Notebook'), panel => void review.keepAll(panel)],
    'eca:undo-all-changes': [trans.__('Undo All Changes in this Notebook'), panel => void review.undoAll(panel)]
  };
  for (const [command, [label, act]] of Object.entries(reviewCommands)) {
    commands.addCommand(command, {
      label,
      describedBy: { args: { type: 'object', properties: {} } },
      isEnabled: () =>
        tracker.currentWidget !== null &&
        review.hasChanges(tracker.currentWidget) &&
        (!DECIDING_COMMANDS.has(command) || review.canDecideAll(tracker.currentWidget)),
      execute: () => {
        if (tracker.currentWidget !== null) {
          act(tracker.currentWidget);
        }
      }
    });
    palette?.addItem({ command, category: trans.__('Assistant') });
  }
  // The function is taken from the class of the object. An import would add the library to this bundle.
  const { keystrokeForKeydownEvent: getKeystroke } = commands.constructor as typeof CommandRegistry;
  /**
   * Run the command of a key that was pressed in the bar of a cell (`cell_bar.ts`) or in a hunk. Lab ignores all keys
   * there (`lmSuppressShortcuts`), so that *Enter* presses a button and does not edit the cell.
   */
  const handleKey = (event: KeyboardEvent): void => {
    if (event.target instanceof Element && event.target.closest('[data-lm-suppress-shortcuts]') !== null) {
      const pressed = getKeystroke(event);
      const binding = commands.keyBindings.find(
        ({ command, keys }) => command in reviewCommands && String(keys) === pressed
      );
      if (binding !== undefined) {
        event.preventDefault();
        void commands.execute(binding.command, binding.args);
      }
    }
  };
  /** Handle the keys that are pressed in a notebook. */
  const listenForKeys = ({ node }: NotebookPanel): void => {
    // In the capture phase, because a hunk stops the event before it bubbles up to the notebook.
    node.addEventListener('keydown', handleKey, { capture: true });
  };
  tracker.forEach(listenForKeys);
  tracker.widgetAdded.connect((_, panel) => {
    listenForKeys(panel);
  });
}
