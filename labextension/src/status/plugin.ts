/**
 * Defines the plugin that shows the assistant in Lab's status bar: its model, its activity, and the cost of the chat.
 *
 * The plugin does not load the panel, but waits until something else has loaded it. Until then the item shows only the
 * word *Assistant*. `chat/status_text.ts` writes the text.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { IPanelPlace, PanelPlace } from '../panel/place';

export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:status',
  description: 'Shows the assistant in the status bar.',
  autoStart: true,
  requires: [IPanelPlace],
  optional: [IStatusBar, ITranslator],
  activate
};

/** The position of the item in the status bar: beside the state of the kernel. */
const RANK = 5;

/** Add the item to the status bar, and update its text whenever the session changes. */
function activate(
  app: JupyterFrontEnd,
  place: PanelPlace,
  bar: IStatusBar | null,
  translator: ITranslator | null
): void {
  if (bar === null) {
    return;
  }
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  const button = document.createElement('button');
  button.type = 'button';
  button.title = trans.__('Open the assistant');
  button.className = 'jp-StatusBar-TextItem eca-StatusItem';
  // The style is set here, because the style sheet is loaded later.
  button.style.cssText =
    'background:none;block-size:100%;border:none;color:inherit;cursor:pointer;font:inherit;padding:0 6px';
  button.addEventListener('click', () => void app.commands.execute('eca:open-panel'));
  const item = new Widget();
  item.addClass('jp-mod-highlighted');
  item.node.append(button);
  button.textContent = trans.__('Assistant');
  bar.registerStatusItem('jupyter-eca:status', { item, align: 'left', rank: RANK });
  void place.loaded.then(async ({ session }) => {
    const [{ describeStatus, isWaiting }, { listWaitingChats }] = await Promise.all([
      import('../chat/status_text'),
      import('../chat/waiting_chats')
    ]);
    // If a chat waits that is not shown, the click leads to it.
    button.addEventListener('click', () => {
      const [waiting] = isWaiting(session.chat) ? [] : listWaitingChats(session.state);
      if (waiting !== undefined) {
        void session.openChat(waiting.id);
      }
    });
    const show = (): void => {
      const text = describeStatus(session.state, session.chat, trans);
      // This runs ten times a second while the assistant answers. Setting the same text again would cost a layout.
      if (button.textContent !== text) {
        button.textContent = text;
      }
    };
    session.subscribe(show);
    show();
  });
}
