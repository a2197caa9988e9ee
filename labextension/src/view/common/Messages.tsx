/**
 * Shows messages of the server or of the page that are not part of a chat, until the user closes them.
 *
 * The session collects the messages; see `Session.showMessage`.
 */

import * as React from 'react';

import type { Session } from '../../chat/session';
import type { Message, State } from '../../chat/state';
import type { DeletedChat } from '../../chat/types';
import { toPlainText } from '../../render/format';
import { createElement } from './element';
import { useEnv } from './env';
import { Icon, IconButton } from './Icon';
import { TextWithCode } from './TextWithCode';

/** The most characters of a message that are shown: about ten lines of the panel. */
const MAX_LENGTH = 500;

/** For this time, in milliseconds, a notice about a deletion is shown: see `DeletionNotice`. */
const UNDO_MS = 10_000;

interface Props {
  readonly session: Session;
  readonly messages: State['messages'];
  /** Undoes the deletion of a chat; absent where no chats are deleted. */
  readonly onRestore?: (deleted: DeletedChat) => void;
}

/** Draws the last three messages. More would leave no room for the chat. */
export function Messages({ session, messages, onRestore }: Props): React.ReactElement {
  const { trans } = useEnv();
  const undo = ({ key, deleted }: Message): void => {
    session.dismiss(key);
    if (deleted !== undefined) {
      onRestore?.(deleted);
    }
  };
  return (
    <div className="eca-Messages">
      {messages.slice(-3).map(message => {
        const { key, type, text } = message;
        if (message.offersNotifications === true) {
          return (
            <NotificationOffer
              key={key}
              text={text}
              onDismiss={() => {
                session.dismiss(key);
              }}
            />
          );
        }
        return message.deleted === undefined ? (
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
        ) : (
          <DeletionNotice
            key={key}
            text={text}
            onUndo={() => {
              undo(message);
            }}
            onDismiss={() => {
              session.dismiss(key);
            }}
          />
        );
      })}
    </div>
  );
}

/**
 * Draws the question whether the browser should notify the user. It stays until the user has answered, and covers no
 * part of the panel. `attention/notifier.ts` shows the question, and asks the browser for its permission after a yes.
 */
function NotificationOffer({ text, onDismiss }: Omit<NoticeProps, 'onUndo'>): React.ReactElement {
  const { trans, savePreferences } = useEnv();
  return (
    <div className="eca-Message eca-mod-info eca-Offer" role="status">
      <Icon name="question" />
      <div>
        <p dir="auto">{text}</p>
        <div className="eca-Card-actions">
          <button
            type="button"
            className="eca-Button eca-mod-main"
            onClick={() => {
              savePreferences?.({ notifications: 'on' });
              onDismiss();
            }}
          >
            {trans.__('Notify me')}
          </button>
          <button type="button" className="eca-Button" onClick={onDismiss}>
            {trans.__('No')}
          </button>
        </div>
      </div>
    </div>
  );
}

interface NoticeProps {
  readonly text: string;
  readonly onUndo: () => void;
  readonly onDismiss: () => void;
}

/** Draws the notice about a deletion. It disappears after a while, but not while the pointer or the focus is in it. */
function DeletionNotice({ text, onUndo, onDismiss }: NoticeProps): React.ReactElement {
  const { trans } = useEnv();
  const [hasPointer, setPointer] = React.useState(false);
  const [hasFocus, setFocus] = React.useState(false);
  const dismiss = React.useRef(onDismiss);
  dismiss.current = onDismiss;
  React.useEffect(() => {
    if (hasPointer || hasFocus) {
      return undefined;
    }
    const timer = window.setTimeout(() => {
      dismiss.current();
    }, UNDO_MS);
    return () => {
      window.clearTimeout(timer);
    };
  }, [hasPointer, hasFocus]);
  return (
    <div
      className="eca-Message eca-mod-info"
      role="status"
      onPointerEnter={() => {
        setPointer(true);
      }}
      onPointerLeave={() => {
        setPointer(false);
      }}
      onFocus={() => {
        setFocus(true);
      }}
      onBlur={() => {
        setFocus(false);
      }}
    >
      <Icon name="trash" />
      <span dir="auto">{toPlainText(text.slice(0, MAX_LENGTH))}</span>
      <button
        type="button"
        className="eca-Button"
        aria-keyshortcuts="Control+Z"
        title={trans.__('Bring the chat back (Ctrl+Z in the list of chats)')}
        onClick={onUndo}
      >
        {trans.__('Undo')}
      </button>
      <IconButton icon="close" label={trans.__('Dismiss')} onClick={onDismiss} />
    </div>
  );
}
