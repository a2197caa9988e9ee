/**
 * Shows the chats of the workspace, and lets the user find, open, rename and delete them.
 *
 * This module knows no session: `App.tsx` passes what each button does.
 */

import * as React from 'react';

import { ChatId, ChatSummary } from '../wire/protocol';
import { toPlainText } from '../render/format';
import { useEnv } from './common/env';
import { Icon, IconButton } from './common/Icon';

interface Props {
  readonly chats: readonly ChatSummary[];
  readonly current: ChatId;
  readonly onOpen: (id: ChatId) => void;
  readonly onRename: (id: ChatId, title: string) => void;
  readonly onDelete: (id: ChatId) => void;
}

export function ChatList({ chats, current, onOpen, onRename, onDelete }: Props): React.ReactElement {
  const { trans } = useEnv();
  const [query, setQuery] = React.useState('');
  const wanted = query.trim().toLocaleLowerCase();
  const found = chats.filter(chat => (chat.title ?? '').toLocaleLowerCase().includes(wanted));
  return (
    <div className="eca-Chats">
      <input
        type="search"
        className="eca-Input"
        autoFocus
        value={query}
        aria-label={trans.__('Find a chat')}
        placeholder={trans.__('Find a chat')}
        onChange={event => {
          setQuery(event.target.value);
        }}
      />
      {found.length === 0 && (
        <p className="eca-Note">
          {chats.length === 0 ? trans.__('No chats yet.') : trans.__('No chat has this name.')}
        </p>
      )}
      <ul>
        {found.map(chat => (
          <Row
            key={chat.id}
            chat={chat}
            current={chat.id === current}
            onOpen={onOpen}
            onRename={onRename}
            onDelete={onDelete}
          />
        ))}
      </ul>
    </div>
  );
}

type RowProps = Pick<Props, 'onOpen' | 'onRename' | 'onDelete'> & {
  readonly chat: ChatSummary;
  readonly current: boolean;
};

function Row({ chat, current, onOpen, onRename, onDelete }: RowProps): React.ReactElement {
  const { trans } = useEnv();
  const [doing, setDoing] = React.useState<'renaming' | 'deleting' | 'renamed'>();
  const title = chat.title === undefined ? trans.__('Untitled chat') : toPlainText(chat.title);
  if (doing === 'renaming') {
    return (
      <li>
        <Rename
          title={title}
          onDone={name => {
            setDoing('renamed');
            if (name !== '' && name !== title) {
              onRename(chat.id, name);
            }
          }}
        />
      </li>
    );
  }
  return (
    <li className={current ? 'eca-mod-current' : ''}>
      <button
        type="button"
        className="eca-Chats-open"
        autoFocus={doing === 'renamed'}
        aria-current={current}
        onClick={() => {
          onOpen(chat.id);
        }}
      >
        <span className="eca-Chats-title" dir="auto">
          {title}
        </span>
        <span className="eca-Chats-when">
          {chat.status === 'idle' ? (
            <ChatTime at={chat.updatedAt} />
          ) : (
            <span className="eca-Shimmer">{trans.__('running')}</span>
          )}
        </span>
      </button>
      {doing === 'deleting' ? (
        <span className="eca-Chats-tools eca-mod-shown">
          <button
            type="button"
            className="eca-Button eca-mod-danger"
            autoFocus
            onClick={() => {
              onDelete(chat.id);
            }}
          >
            {trans.__('Delete')}
          </button>
          <button
            type="button"
            className="eca-Button"
            onClick={() => {
              setDoing(undefined);
            }}
          >
            {trans.__('Cancel')}
          </button>
        </span>
      ) : (
        <span className="eca-Chats-tools">
          <IconButton
            icon="edit"
            label={trans.__('Rename %1', title)}
            onClick={() => {
              setDoing('renaming');
            }}
          />
          <IconButton
            icon="trash"
            label={trans.__('Delete %1', title)}
            onClick={() => {
              setDoing('deleting');
            }}
          />
        </span>
      )}
    </li>
  );
}

/** The form for the new name of a chat. With an empty name, the chat keeps its old name. */
function Rename({
  title,
  onDone
}: {
  readonly title: string;
  readonly onDone: (title: string) => void;
}): React.ReactElement {
  const { trans } = useEnv();
  const [name, setName] = React.useState(title);
  return (
    <form
      className="eca-Chats-rename"
      onSubmit={event => {
        event.preventDefault();
        onDone(name.trim());
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onDone('');
        }
      }}
    >
      <input
        className="eca-Input"
        autoFocus
        dir="auto"
        value={name}
        aria-label={trans.__('New name')}
        onFocus={event => {
          event.target.select();
        }}
        onChange={event => {
          setName(event.target.value);
        }}
      />
      <button
        type="submit"
        className="eca-IconButton"
        aria-label={trans.__('Save the name')}
        title={trans.__('Save the name')}
      >
        <Icon name="check" />
      </button>
    </form>
  );
}

const DAY_MS = 86_400_000;

/** Shows when a chat was changed last: the time within the last 24 hours, otherwise the date. */
function ChatTime({ at }: { readonly at: number }): React.ReactElement {
  const date = new Date(at);
  const today = Date.now() - at < DAY_MS;
  const text = today
    ? date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
    : date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
  return <time dateTime={date.toISOString()}>{text}</time>;
}
