/**
 * Watches the activity of the chats. If a chat needs a user who looks at another tab of the browser, it shows a mark in
 * the title of Lab's tab, and a notification.
 *
 * This module is loaded with the panel, by `plugin.ts`.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';

import type { AssistantPanel } from '../panel/panel';
import { chooseMark, listActivities, listNeeds } from './attention';
import { Notifier } from './notifier';
import { TitleMark } from './title_mark';

/** Watch the chats of a panel, as long as the page is there. */
export function watchChats(
  { session, preferences }: AssistantPanel,
  commands: CommandRegistry,
  trans: TranslationBundle
): void {
  const titleMark = new TitleMark(document);
  const notifier = new Notifier(
    preferences,
    trans,
    chatId => {
      void commands.execute('eca:open-panel').then(() => session.openChat(chatId));
    },
    question => {
      session.offerNotifications(question);
    }
  );
  let activities = listActivities(session.state);
  /** Whether an answer has ended since the user last saw the page. */
  let hasUnseenAnswer = false;
  const update = (): void => {
    const before = activities;
    activities = listActivities(session.state);
    if (document.hidden) {
      for (const need of listNeeds(before, activities)) {
        hasUnseenAnswer ||= need.reason === 'ended';
        notifier.notify(need);
      }
    }
    titleMark.set(chooseMark(activities, hasUnseenAnswer));
  };
  session.subscribe(update);
  // If the user turns notifications on in the settings, the browser still has to allow them.
  preferences.subscribe(() => {
    notifier.requestPermissionIfNeeded();
  });
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      hasUnseenAnswer = false;
      notifier.offerNotifications();
    }
    update();
  });
  update();
}
