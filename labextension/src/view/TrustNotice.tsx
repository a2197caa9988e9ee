/**
 * Tells the user that a folder contains settings for the assistant, and lists them. The settings have no effect until
 * the user trusts the folder.
 *
 * The server decides which settings need trust. The button trusts only the settings that are shown.
 */

import * as React from 'react';

import { HeldSettings, UntrustedSettingsParams } from '../wire/protocol';
import { toExactText } from '../render/format';
import { createElement } from './common/element';
import { useEnv } from './common/env';
import { Icon } from './common/Icon';

interface Props {
  /** The settings that wait for trust, and whether the user can trust them here. */
  readonly untrusted: UntrustedSettingsParams;
  /** Trusts these settings of a folder. They are held back until then. */
  readonly onTrust: (held: HeldSettings) => Promise<void>;
}

/** Draws one notice for each folder; nothing when there is none. */
export function TrustNotice({ untrusted, onTrust }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  if (untrusted.folders.length === 0) {
    return null;
  }
  return (
    <div className="eca-Messages">
      {untrusted.folders.map(held => (
        <section
          key={held.digest}
          className="eca-Message eca-mod-warning eca-Trust"
          aria-label={trans.__('Settings of this folder')}
        >
          <Icon name="alert" />
          <div>
            <p dir="auto" title={toExactText(held.folder)}>
              {trans.__(
                'This folder brings its own settings: %1. They do nothing until you trust this folder.',
                toExactText(held.summary)
              )}
            </p>
            <details>
              <summary>{trans.__('Show')}</summary>
              <ul>
                {held.settings.map(({ key, value }) => (
                  <li key={key}>
                    <code>
                      {toExactText(key)}: {toExactText(value)}
                    </code>
                  </li>
                ))}
              </ul>
            </details>
            {untrusted.canTrust ? (
              <button type="button" className="eca-Button" onClick={() => void onTrust(held)}>
                {trans.__('Trust this folder')}
              </button>
            ) : (
              <p>{trans.__('You can trust it in the side panel of JupyterLab.')}</p>
            )}
          </div>
        </section>
      ))}
    </div>
  );
}
