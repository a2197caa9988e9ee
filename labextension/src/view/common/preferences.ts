/**
 * Reads and writes what the user has set for the panel in Lab's own settings: the side of Lab on which the panel is,
 * the key that sends a message, the chips (labels above the prompt box for what is sent with a message), the list of
 * chats, and the notifications.
 *
 * The settings of the assistant (providers, servers, rules) are not here: the server keeps them, and `settings/` shows
 * them.
 */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';

import type { Grouping } from '../../chats/groups';

/** What the user has set for the panel. */
export interface Preferences {
  /** The side of Lab on which the panel is. */
  readonly side: 'left' | 'right';
  /** The key that sends a message. The other of these two begins a new line. */
  readonly sendKey: 'Enter' | 'Shift+Enter';
  /** Whether the place in the notebook is offered as a context, as a chip above the prompt box. */
  readonly chips: boolean;
  /** How the list of chats is grouped. */
  readonly chatGrouping: Grouping;
  /** The ids of the chats that the list of chats shows first. This has nothing to do with `pinChat`. */
  readonly pinnedChats: string[];
  /** Whether the panel keeps the chat that it shows when the user goes to another notebook. */
  readonly pinChat: boolean;
  /**
   * Whether the browser notifies the user when an answer ends or waits in a hidden tab. `ask`: the user was not asked
   * yet.
   */
  readonly notifications: 'ask' | 'on' | 'off';
}

/** The preferences of a user who has set nothing. They are the defaults in `schema/plugin.json`, too. */
export const DEFAULTS: Preferences = {
  side: 'right',
  sendKey: 'Enter',
  chips: true,
  chatGrouping: 'notebook',
  pinnedChats: [],
  pinChat: false,
  notifications: 'ask'
};

/** Read the preferences from Lab's settings. A value that does not fit the schema becomes the default. */
export function readPreferences({
  side,
  sendKey,
  chips,
  chatGrouping,
  pinnedChats,
  pinChat,
  notifications
}: Readonly<Record<string, unknown>>): Preferences {
  return {
    side: side === 'left' ? side : DEFAULTS.side,
    sendKey: sendKey === 'Shift+Enter' ? sendKey : DEFAULTS.sendKey,
    chips: typeof chips === 'boolean' ? chips : DEFAULTS.chips,
    chatGrouping: chatGrouping === 'date' || chatGrouping === 'state' ? chatGrouping : DEFAULTS.chatGrouping,
    pinnedChats: Array.isArray(pinnedChats) ? pinnedChats.filter(id => typeof id === 'string') : DEFAULTS.pinnedChats,
    pinChat: typeof pinChat === 'boolean' ? pinChat : DEFAULTS.pinChat,
    notifications: notifications === 'on' || notifications === 'off' ? notifications : DEFAULTS.notifications
  };
}

/** The id of the settings in Lab. Lab makes it from the name of the package and of the file `schema/plugin.json`. */
const SETTINGS_ID = 'jupyter-eca:plugin';

/** Keeps the present preferences, and notifies subscribers when they change. */
export class PreferenceStore {
  /** The present preferences. */
  private value = DEFAULTS;
  /** Called whenever `value` has changed. */
  private readonly subscribers = new Set<() => void>();
  /** Lab's settings; undefined as long as they are not loaded. */
  private settings: ISettingRegistry.ISettings | undefined;

  /** Call `subscriber` whenever a preference has changed. The returned function ends that. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.subscribers.add(subscriber);
    return () => this.subscribers.delete(subscriber);
  };

  /** Return the present preferences. */
  readonly current = (): Preferences => this.value;

  /** Change the preferences here, and notify the subscribers. This does not save them: see `save`. */
  set(value: Preferences): void {
    this.value = value;
    this.subscribers.forEach(subscriber => {
      subscriber();
    });
  }

  /** Change preferences here, and save them in Lab's settings. */
  readonly save = (changed: Partial<Preferences>): void => {
    this.set({ ...this.value, ...changed });
    for (const [name, value] of Object.entries(changed)) {
      this.settings?.set(name, value).catch((error: unknown) => {
        console.warn('The assistant could not save a setting: %s', error);
      });
    }
  };

  /**
   * Read Lab's settings, and read them again whenever they change. `registry` contains them; it is null in a page
   * without settings. `restored` resolves when Lab has put its panels where they were. `movePanel` is called with the
   * side of the panel whenever it changes, and at the start if it is not the default.
   */
  async follow(
    registry: ISettingRegistry | null,
    restored: Promise<unknown>,
    movePanel: (side: Preferences['side']) => void
  ): Promise<void> {
    if (registry === null) {
      return;
    }
    const settings = await registry.load(SETTINGS_ID);
    const update = (): void => {
      const before = this.value;
      this.set(readPreferences(settings.composite));
      if (this.value.side !== before.side) {
        movePanel(this.value.side);
      }
    };
    await restored;
    this.settings = settings;
    update();
    settings.changed.connect(update);
  }
}
