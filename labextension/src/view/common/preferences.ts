/**
 * What the user chose for the panel in Lab's settings: side, send key, chips.
 *
 * Keys, servers and rules are not here: the server keeps them, and `settings/` shows them.
 */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';

export interface Preferences {
  readonly side: 'left' | 'right';
  readonly sendKey: 'Enter' | 'Shift+Enter';
  /** Whether what is worked on in the notebook is offered to be sent along. */
  readonly chips: boolean;
}

export const DEFAULTS: Preferences = { side: 'right', sendKey: 'Enter', chips: true };

/** The schema has the same values; what does not fit it is the default. */
export function readPreferences({ side, sendKey, chips }: Readonly<Record<string, unknown>>): Preferences {
  return {
    side: side === 'left' ? side : DEFAULTS.side,
    sendKey: sendKey === 'Shift+Enter' ? sendKey : DEFAULTS.sendKey,
    chips: typeof chips === 'boolean' ? chips : DEFAULTS.chips
  };
}

/** The file of the schema, by which Lab knows the settings. */
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

  /** `place` is told the side when it is chosen, and at the beginning when that is not where it stands by itself. */
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
