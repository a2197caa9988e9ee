/**
 * Shows messages of the server or of the page that are not part of a chat, until the user closes them.
 *
 * The session collects the messages; see `Session.showMessage`.
 */

import * as React from 'react';

import type { Session } from '../../chat/session';
import type { State } from '../../chat/state';
import { toPlainText } from '../../render/format';
import { useEnv } from './env';
import { Icon, IconButton } from './Icon';
import { TextWithCode } from './TextWithCode';

/** The most characters of a message that are shown. */
const MAX_LENGTH = 500;

interface Props {
  readonly session: Session;
  readonly messages: State['messages'];
}

/** Draws the last three messages. More would leave no room for the chat. */
export function Messages({ session, messages }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-Messages">
      {messages.slice(-3).map(({ key, type, text }) => (
        <div key={key} className={`eca-Message eca-mod-${type}`} role={type === 'info' ? 'status' : 'alert'}>
          <Icon name="alert" />
          <span dir="auto">
            <TextWithCode text={toPlainText(text.slice(0, MAX_LENGTH))} />
          </span>
          <IconButton
            icon="close"
            label={trans.__('Dismiss')}
            onClick={() => {
              session.dismiss(key);
            }}
          />
        </div>
      ))}
    </div>
  );
}
