/**
 * Shows a line for each chat that waits for the user while the panel shows another chat. A button opens the chat.
 *
 * This module knows no session: `chat/waiting_chats.ts` finds the chats, and `App.tsx` opens them.
 */

import * as React from 'react';

import { ChatId, ChatSummary } from '../wire/protocol';
import { baseName, toPlainText } from '../render/format';
import { useEnv } from './common/env';
import { Icon } from './common/Icon';

interface Props {
  /** The chats that wait. */
  readonly chats: readonly ChatSummary[];
  /** Shows a chat in the panel. */
  readonly onOpen: (id: ChatId) => void;
}

/** The lines; nothing when no chat waits. */
export function WaitingChats({ chats, onOpen }: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-WaitingChats" role="status">
      {chats.map(({ id, notebook, title }) => (
        <p key={id}>
          <Icon name="alert" />
          <span title={toPlainText(title ?? '')} dir="auto">
            {notebook === undefined
              ? trans.__('Another chat waits for you.')
              : trans.__('A question in %1 waits for you.', toPlainText(baseName(notebook)))}
          </span>
          <button
            type="button"
            className="eca-Button"
            onClick={() => {
              onOpen(id);
            }}
          >
            {trans.__('Show it')}
          </button>
        </p>
      ))}
    </div>
  );
}
