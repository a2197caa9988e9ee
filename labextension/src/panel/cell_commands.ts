/**
 * Adds the two commands of a cell to Lab: ask about the cell in the panel, and edit the cell with the assistant.
 *
 * This module knows no session: `place.ts` loads the panel when a command needs it.
 */

import { INotebookTracker } from '@jupyterlab/notebook';
import { TranslationBundle } from '@jupyterlab/translation';
import { editIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';

import { questionIcon } from '../view/common/assistant_icon';
import { PanelPlace } from './place';

/** Menus, toolbars and shortcuts in schema/plugin.json use these ids. */
export const CellCommand = { ask: 'eca:ask-cell', edit: 'eca:edit-cell' } as const;
/** The command of `plugin.ts` that opens the panel. */
const OPEN_COMMAND = 'eca:open-panel';

/** Add both commands to Lab. They use the active cell of the active notebook. */
export function addCellCommands(
  commands: CommandRegistry,
  tracker: INotebookTracker,
  trans: TranslationBundle,
  place: PanelPlace
): void {
  const isEnabled = (): boolean => tracker.activeCell !== null;
  const describedBy = { args: { type: 'object', properties: {} } };
  commands.addCommand(CellCommand.ask, {
    label: trans.__('Ask about this Cell'),
    caption: trans.__('Ask the assistant about this cell'),
    icon: questionIcon,
    describedBy,
    isEnabled,
    // No message is needed: the chip above the prompt box already names the cell.
    execute: () => commands.execute(OPEN_COMMAND)
  });
  commands.addCommand(CellCommand.edit, {
    label: trans.__('Edit this Cell'),
    caption: trans.__('Have the assistant edit this cell'),
    icon: editIcon,
    describedBy,
    isEnabled,
    execute: () => {
      if (tracker.currentWidget !== null) {
        place.openEditBox(tracker.currentWidget);
      }
    }
  });
  tracker.activeCellChanged.connect(() => {
    Object.values(CellCommand).forEach(command => {
      commands.notifyCommandChanged(command);
    });
  });
}
