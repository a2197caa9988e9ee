/**
 * Defines the plugin for inline completion, the grey text that shows how the code could continue. It registers a
 * provider with Lab's own completer.
 *
 * `completion_provider.ts` requests the completions. It is loaded when the first completion is requested.
 */

import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICompletionProviderManager, IInlineCompletionProvider } from '@jupyterlab/completer';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import type { InlineCompletions } from './completion_provider';
import { assistantIcon } from '../view/common/assistant_icon';

/** The id of the settings in schema/plugin.json. */
const SETTINGS_ID = 'jupyter-eca:plugin';
/** The setting that switches completion on and off. */
const SETTING = 'inlineCompletion';

/**
 * The defaults, in milliseconds, for Lab's own settings of the inline completer. `debouncerDelay`: the pause in typing
 * after which Lab requests a completion. `timeout`: how long Lab waits for it.
 */
const DEFAULTS = { debouncerDelay: 250, timeout: 10_000 };

export const inlinePlugin: JupyterFrontEndPlugin<void> = {
  // Users can switch a plugin of Lab off by its id. So this id stays, although completion is not called so elsewhere.
  id: 'jupyter-eca:ghosting',
  description: 'Completes what the user types, if the setting is on.',
  autoStart: true,
  requires: [ICompletionProviderManager, ISettingRegistry],
  optional: [ITranslator],
  activate
};

/** Register the provider, and switch it on or off whenever the setting changes. */
function activate(
  app: JupyterFrontEnd,
  manager: ICompletionProviderManager,
  registry: ISettingRegistry,
  translator: ITranslator | null
): void {
  const trans = (translator ?? nullTranslator).load('jupyter_eca');
  const { serverSettings } = app.serviceManager;
  /** Undefined until the first completion is requested, and after the setting was switched off. */
  let completions: Promise<InlineCompletions> | undefined;
  /** Load the module, unless it is loaded. */
  const load = (): Promise<InlineCompletions> =>
    (completions ??= import('./completion_provider').then(
      ({ InlineCompletions }) => new InlineCompletions(serverSettings)
    ));
  let timeout = DEFAULTS.timeout;
  /** Whether the setting is on. */
  let isOn = false;
  const provider: IInlineCompletionProvider = {
    name: trans.__('Assistant'),
    identifier: 'jupyter-eca',
    icon: assistantIcon,
    schema: { default: DEFAULTS },
    configure: settings => {
      timeout = Number(settings.timeout ?? DEFAULTS.timeout);
    },
    fetch: async (request, context) => {
      if (!isOn) {
        return { items: [] };
      }
      const loaded = await load();
      return loaded.complete(request, context.widget, timeout);
    }
  };
  // Registered before Lab is restored: Lab looks only once for providers that have settings.
  manager.registerInlineProvider(provider);
  /** Switch the completion on or off, as the setting says. */
  const applySettings = (settings: ISettingRegistry.ISettings): void => {
    isOn = settings.composite[SETTING] === true;
    if (!isOn) {
      void completions?.then(loaded => {
        loaded.close();
      });
      completions = undefined;
    }
  };
  void registry.load(SETTINGS_ID).then(settings => {
    settings.changed.connect(applySettings);
    applySettings(settings);
  });
}
