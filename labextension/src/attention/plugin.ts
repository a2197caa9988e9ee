/**
 * The plugin that calls a user who looks at another tab: by a mark in the title of the tab, and by a notification.
 *
 * It does not load the panel: it begins when something else has loaded it.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { IPanelPlace, PanelPlace } from '../panel/place';

export const attentionPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-eca:attention',
  description: 'Marks the title of the tab and notifies the user when an answer ends or waits for them.',
  autoStart: true,
  requires: [IPanelPlace],
  optional: [ITranslator],
  activate
};

function activate(app: JupyterFrontEnd, place: PanelPlace, translator: ITranslator | null): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  void place.loaded.then(async ({ session, preferences }) => {
    const [{ chooseMark, listActivities, listNeeds }, { TitleMark }, { Notifier }] = await Promise.all([
      import('./attention'),
      import('./title_mark'),
      import('./notifier')
    ]);
    const titleMark = new TitleMark(document);
    const notifier = new Notifier(preferences, trans, chatId => {
      void app.commands.execute('eca:open-panel').then(() => session.openChat(chatId));
    });
    let activities = listActivities(session.state);
    let hasUnseen = false;
    const update = (): void => {
      const before = activities;
      activities = listActivities(session.state);
      if (document.hidden) {
        for (const need of listNeeds(before, activities)) {
          hasUnseen ||= need.reason === 'ended';
          notifier.notify(need);
        }
      }
      titleMark.set(chooseMark(activities, hasUnseen));
    };
    session.subscribe(update);
    // Where somebody turns notifications on in the settings, the browser still has to allow them.
    preferences.subscribe(() => {
      notifier.requestIfWanted();
    });
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        hasUnseen = false;
        notifier.offer();
      }
      update();
    });
    update();
  });
}
