/**
 * Shows a line for each chat that waits for the user, or in which somebody else asks about the same notebook, while the
 * panel shows another chat. A button opens the chat.
 *
 * This module knows no session: `chat/waiting_chats.ts` finds the chats, and `App.tsx` opens them.
 */

import * as React from 'react';

import { ChatId, ChatSummary } from '../wire/protocol';
import { baseName, toExactText, toPlainText } from '../render/format';
import { createElement } from './common/element';
import { useEnv } from './common/env';
import { Icon } from './common/Icon';

interface Props {
  /** The chats that wait for the user. */
  readonly waiting: readonly ChatSummary[];
  /** The chats in which somebody else asks. Some may wait for the user, too. */
  readonly ofOthers: readonly ChatSummary[];
  /** Shows a chat in the panel. */
  readonly onOpen: (id: ChatId) => void;
}

/** The lines; nothing when there is no such chat. */
export function WaitingChats({ waiting, ofOthers, onOpen }: Props): React.ReactElement {
  const { trans } = useEnv();
  const describeWaiting = ({ notebook }: ChatSummary): string =>
    notebook === undefined
      ? trans.__('Another chat waits for you.')
      : trans.__('A question in %1 waits for you.', toPlainText(baseName(notebook)));
  const describeOthers = ({ notebook = '', askedBy }: ChatSummary): string =>
    trans.__('%1 asks in %2.', toExactText(askedBy?.name ?? ''), toPlainText(baseName(notebook)));
  const lines = [
    ...waiting.map(chat => ({ chat, icon: 'alert' as const, text: describeWaiting(chat) })),
    ...ofOthers
      .filter(chat => !waiting.includes(chat))
      .map(chat => ({ chat, icon: 'chats' as const, text: describeOthers(chat) }))
  ];
  return (
    <div className="eca-WaitingChats" role="status">
      {lines.map(({ chat: { id, title }, icon, text }) => (
        <p key={id}>
          <Icon name={icon} />
          <span title={toPlainText(title ?? '')} dir="auto">
            {text}
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
