/**
 * What the user chose for the panel in Lab's settings: side, send key, chips.
 *
 * Keys, servers and rules are not here: the server keeps them, and `settings/` shows them.
 */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';

export interface Preferences {
  readonly side: 'left' | 'right';
  readonly sendKey: 'Enter' | 'Shift+Enter';
  /** Whether the place in the notebook is offered as a context. */
  readonly chips: boolean;
}

export const DEFAULTS: Preferences = { side: 'right', sendKey: 'Enter', chips: true };

/** Read the preferences from Lab's settings. A value that does not fit the schema becomes the default. */
export function readPreferences({ side, sendKey, chips }: Readonly<Record<string, unknown>>): Preferences {
  return {
    side: side === 'left' ? side : DEFAULTS.side,
    sendKey: sendKey === 'Shift+Enter' ? sendKey : DEFAULTS.sendKey,
    chips: typeof chips === 'boolean' ? chips : DEFAULTS.chips
  };
}

/** The id under which Lab keeps the settings: that of the schema file. */
const ID = 'jupyter-eca:plugin';

export class PreferenceStore {
  private value = DEFAULTS;
  private readonly watchers = new Set<() => void>();

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly current = (): Preferences => this.value;

  set(value: Preferences): void {
    this.value = value;
    this.watchers.forEach(watcher => {
      watcher();
    });
  }

  /**
   * Follow Lab's settings. `place` is called with the side whenever it changes, and at the start if it is not the
   * default.
   */
  async follow(
    registry: ISettingRegistry | null,
    restored: Promise<unknown>,
    place: (side: Preferences['side']) => void
  ): Promise<void> {
    if (registry === null) {
      return;
    }
    const settings = await registry.load(ID);
    const take = (): void => {
      const before = this.value;
      this.set(readPreferences(settings.composite));
      if (this.value.side !== before.side) {
        place(this.value.side);
      }
    };
    await restored;
    take();
    settings.changed.connect(take);
  }
}
