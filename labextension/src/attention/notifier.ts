/**
 * Shows a notification of the browser to a user who looks at another tab.
 *
 * The user is asked once whether they want this: when they come back and have missed something. The settings of Lab
 * keep the answer. A notification names the chat, and nothing of its contents: others may see the screen.
 */

import { Notification as LabNotification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { PreferenceStore } from '../view/common/preferences';
import type { Need } from './attention';

/** Shows the notifications, and asks the user whether they are wanted. */
export class Notifier {
  /** Whether the user has missed something since they last saw the page. */
  private hasMissed = false;

  /**
   * `openChat` is called with the chat of a notification that was clicked. `offer` asks the user the given question in
   * the panel. The question is not a notification of Lab, which would cover the button that sends a message.
   */
  constructor(
    private readonly preferences: PreferenceStore,
    private readonly trans: TranslationBundle,
    private readonly openChat: (chatId: string) => void,
    private readonly offer: (question: string) => void
  ) {}

  /** Notify the user, if they want it and the browser allows it. Called while the page is hidden. */
  notify({ chatId, title, reason }: Need): void {
    this.hasMissed = true;
    if (!canNotify() || this.preferences.current().notifications !== 'on' || Notification.permission !== 'granted') {
      return;
    }
    const heading =
      reason === 'waiting' ? this.trans.__('The assistant waits for you') : this.trans.__('The answer is ready');
    // A later notification about the same chat replaces this one.
    const notification = new Notification(heading, { body: title, tag: `jupyter-eca:${chatId}` });
    notification.onclick = () => {
      window.focus();
      notification.close();
      this.openChat(chatId);
    };
  }

  /**
   * Ask the user whether to notify them, if they have missed something and were never asked. Called when they return.
   */
  offerNotifications(): void {
    if (!this.hasMissed || !canNotify() || this.preferences.current().notifications !== 'ask') {
      return;
    }
    // An offer that is closed counts as an answer: nobody is asked twice.
    this.preferences.save({ notifications: 'off' });
    this.offer(this.trans.__('Should the browser notify you when an answer ends or waits for you in a hidden tab?'));
  }

  /** Ask the browser for its permission, if notifications are wanted and it was never asked. */
  requestPermissionIfNeeded(): void {
    if (canNotify() && this.preferences.current().notifications === 'on' && Notification.permission === 'default') {
      void this.enableNotifications();
    }
  }

  /** Ask the browser for its permission, and keep whether notifications are wanted. */
  private async enableNotifications(): Promise<void> {
    const permission = await Notification.requestPermission();
    const notifications = permission === 'denied' ? 'off' : 'on';
    if (notifications !== this.preferences.current().notifications) {
      this.preferences.save({ notifications });
    }
    if (permission === 'denied') {
      LabNotification.warning(
        this.trans.__('The browser does not allow notifications of this page. You can change that in its settings.')
      );
    }
  }
}

/** Return whether the browser has notifications. It has none over HTTP, except on this machine. */
function canNotify(): boolean {
  return 'Notification' in window && window.isSecureContext;
}
