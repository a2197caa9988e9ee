/**
 * Shows the chats of the workspace in groups, and lets the user find, open, pin, rename and delete them.
 *
 * This module knows no session: `App.tsx` passes the functions that the buttons call. `chats/groups.ts` makes the
 * groups, and `chats/search.ts` finds the chats.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Excerpts, filterChats, markWords } from '../chats/search';
import { ChatGroup, ChatState, getChatState, groupChats, Grouping, PINNED } from '../chats/groups';
import { ChatId, ChatSummary } from '../wire/protocol';
import { baseName, toPlainText } from '../render/format';
import { createElement } from './common/element';
import { useEnv, usePreferences } from './common/env';
import { Icon, IconButton } from './common/Icon';
import { useMayApprove, useMayAsk } from './common/rights';

interface Props {
  /** All chats of the workspace, the newest first. */
  readonly chats: readonly ChatSummary[];
  /** The chat that the panel shows when the list is closed. */
  readonly currentChat: ChatId;
  /** The path of the active notebook, whose chats are listed first; undefined when there is none. */
  readonly activeNotebook: string | undefined;
  /** Asks the server for the chats that contain the words of a query; undefined when the search failed. */
  readonly onSearch: (query: string) => Promise<Excerpts | undefined>;
  /** Shows a chat in the panel. If the query was found in its messages, it is passed on, and otherwise it is empty. */
  readonly onOpen: (id: ChatId, query: string) => void;
  /** Gives a chat a new title. */
  readonly onRename: (id: ChatId, title: string) => void;
  /** Deletes a chat at once. The title is for the notice with which the user undoes that. */
  readonly onDelete: (id: ChatId, title: string) => void;
}

/** The pause in typing, in milliseconds, after which the server is asked to search. */
const TYPING_MS = 200;

/** Draws the list of chats, with a field to search in it. */
export function ChatList({ chats, activeNotebook, onSearch, ...actions }: Props): React.ReactElement {
  const { trans, savePreferences } = useEnv();
  const mayApprove = useMayApprove();
  const preferences = usePreferences();
  const [query, setQuery] = React.useState('');
  const [grouping, setGrouping] = React.useState(preferences.chatGrouping);
  const excerpts = useExcerpts(query.trim(), onSearch);
  const foundChats = filterChats(chats, query, excerpts);
  /** Return the query if it was found in a message of a chat, otherwise ''. */
  const getFoundQuery = (id: ChatId): string => ((excerpts?.get(id) ?? '') === '' ? '' : query);
  const pinned = new Set(preferences.pinnedChats);
  const groups = groupChats(foundChats, grouping, { now: Date.now(), activeNotebook, pinned });
  const togglePin =
    savePreferences &&
    ((chatId: ChatId): void => {
      const id = String(chatId);
      // The ids of chats that are gone are forgotten here.
      const others = chats.map(chat => String(chat.id)).filter(other => other !== id && pinned.has(other));
      savePreferences({ pinnedChats: pinned.has(id) ? others : [...others, id] });
    });
  return (
    <div className="eca-Chats">
      <div className="eca-Chats-head">
        <input
          type="search"
          className="eca-Input"
          autoFocus
          value={query}
          aria-label={trans.__('Find a chat')}
          placeholder={trans.__('Find in titles and messages')}
          onChange={event => {
            setQuery(event.target.value);
          }}
          onKeyDown={event => {
            const first = groups[0]?.chats[0];
            if (event.key === 'Enter' && !event.nativeEvent.isComposing && query.trim() !== '' && first !== undefined) {
              // Otherwise the prompt box, which gets the focus, would get this key, too.
              event.preventDefault();
              actions.onOpen(first.id, getFoundQuery(first.id));
            }
          }}
        />
        <select
          className="eca-Select"
          value={grouping}
          aria-label={trans.__('Group the chats by')}
          title={trans.__('Group the chats by')}
          onChange={event => {
            const chatGrouping = event.target.value as Grouping;
            setGrouping(chatGrouping);
            savePreferences?.({ chatGrouping });
          }}
        >
          <option value="notebook">{trans.__('By notebook')}</option>
          <option value="date">{trans.__('By date')}</option>
          <option value="state">{trans.__('By state')}</option>
        </select>
      </div>
      <p className={foundChats.length === 0 ? 'eca-Note' : 'eca-Hidden'} role="status">
        {describeResult(chats.length, foundChats.length, query.trim() !== '', excerpts === undefined, trans)}
      </p>
      {groups.map(group => (
        <section key={group.key} aria-label={nameGroup(group, grouping, mayApprove, trans)}>
          <h2
            className="eca-Chats-group"
            title={grouping === 'notebook' && group.key !== PINNED ? group.key : undefined}
            dir="auto"
          >
            {nameGroup(group, grouping, mayApprove, trans)}
          </h2>
          <ul>
            {group.chats.map(chat => (
              <Row
                key={chat.id}
                chat={chat}
                namesNotebook={grouping !== 'notebook' || group.key === PINNED}
                isPinned={group.key === PINNED}
                onTogglePin={togglePin}
                query={query}
                excerpt={excerpts?.get(chat.id) ?? ''}
                {...actions}
                isCurrent={chat.id === actions.currentChat}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** Return what the server has found for the query; undefined while it searches, and for an empty query. */
function useExcerpts(query: string, onSearch: Props['onSearch']): Excerpts | undefined {
  const [answer, setAnswer] = React.useState<{ readonly query: string; readonly excerpts: Excerpts }>();
  const search = React.useRef(onSearch);
  search.current = onSearch;
  React.useEffect(() => {
    if (query === '') {
      return undefined;
    }
    let isWanted = true;
    const timer = window.setTimeout(() => {
      void search.current(query).then(excerpts => {
        if (isWanted) {
          setAnswer({ query, excerpts: excerpts ?? new Map<ChatId, string>() });
        }
      });
    }, TYPING_MS);
    return () => {
      isWanted = false;
      window.clearTimeout(timer);
    };
  }, [query]);
  return query !== '' && answer?.query === query ? answer.excerpts : undefined;
}

/**
 * Return the line above the list: how many chats were found, or why there are none. It is empty when there is no query.
 * `chatCount` is the number of all chats, and `foundCount` the number of those that the query has found. `isSearching`:
 * the server has not answered yet.
 */
function describeResult(
  chatCount: number,
  foundCount: number,
  hasQuery: boolean,
  isSearching: boolean,
  trans: TranslationBundle
): string {
  if (chatCount === 0) {
    return trans.__('No chats yet.');
  }
  if (!hasQuery) {
    return '';
  }
  if (isSearching) {
    return trans.__('Searching…');
  }
  return foundCount === 0 ? trans.__('No chat has these words.') : trans._n('%1 chat', '%1 chats', foundCount);
}

/**
 * Return the heading of a group. The key of a group is a path, or the name of an age or a state: see `ChatGroup`.
 * `mayApprove`: the user may approve tool calls, so chats with such calls wait for this user.
 */
function nameGroup({ key }: ChatGroup, grouping: Grouping, mayApprove: boolean, trans: TranslationBundle): string {
  if (key === PINNED) {
    return trans.__('Pinned');
  }
  if (grouping === 'notebook') {
    return key === '' ? trans.__('No notebook') : baseName(key);
  }
  const names: Readonly<Record<string, string>> = {
    today: trans.__('Today'),
    yesterday: trans.__('Yesterday'),
    week: trans.__('Last 7 days'),
    month: trans.__('Last 30 days'),
    older: trans.__('Older'),
    waiting: mayApprove ? trans.__('Waiting for you') : trans.__('Waiting for approval'),
    running: trans.__('Running'),
    failed: trans.__('Failed'),
    done: trans.__('Done')
  };
  return names[key] ?? key;
}

type RowProps = Pick<Props, 'onOpen' | 'onRename' | 'onDelete'> & {
  readonly chat: ChatSummary;
  /** Whether the row names the notebook of the chat, because the heading of its group does not. */
  readonly namesNotebook: boolean;
  /** Whether the user has pinned the chat. Pinned chats are listed first. */
  readonly isPinned: boolean;
  /** Pins the chat, or unpins it; undefined where the page has no settings. */
  readonly onTogglePin: ((id: ChatId) => void) | undefined;
  /** What the user searches for; its words are marked in the excerpt. */
  readonly query: string;
  /** A sentence of the chat with the words of the query; empty when there is none. */
  readonly excerpt: string;
  /** Whether this is the chat that the panel shows when the list is closed. */
  readonly isCurrent: boolean;
};

/** Draws one chat in the list. Its buttons pin, rename and delete it. */
function Row({ chat, query, excerpt, isCurrent, isPinned, ...props }: RowProps): React.ReactElement {
  const { onOpen, onRename, onDelete, onTogglePin } = props;
  const { trans } = useEnv();
  const mayAsk = useMayAsk();
  /**
   * `renaming`: the form for the name is open. `renamed`: the form was closed, and the row gets the focus. Undefined:
   * none of these.
   */
  const [mode, setMode] = React.useState<'renaming' | 'renamed'>();
  const title = chat.title === undefined ? trans.__('Untitled chat') : toPlainText(chat.title);
  if (mode === 'renaming') {
    return (
      <li>
        <RenameForm
          title={title}
          onDone={name => {
            setMode('renamed');
            if (name !== '' && name !== title) {
              onRename(chat.id, name);
            }
          }}
        />
      </li>
    );
  }
  return (
    <li className={isCurrent ? 'eca-mod-current' : ''}>
      <button
        type="button"
        className="eca-Chats-open"
        autoFocus={mode === 'renamed'}
        aria-current={isCurrent}
        onClick={() => {
          onOpen(chat.id, excerpt === '' ? '' : query);
        }}
      >
        <span className="eca-Chats-title" dir="auto">
          {title}
        </span>
        <span className="eca-Chats-when">
          <ChatStateText state={getChatState(chat)} updatedAt={chat.updatedAt} />
        </span>
        {props.namesNotebook && chat.notebook !== undefined && (
          <span className="eca-Chats-notebook" title={chat.notebook} dir="auto">
            {baseName(chat.notebook)}
          </span>
        )}
        {excerpt !== '' && (
          <span className="eca-Chats-excerpt" dir="auto">
            {markWords(excerpt, query).map((piece, index) =>
              piece.isMatch ? <mark key={index}>{piece.text}</mark> : piece.text
            )}
          </span>
        )}
      </button>
      <span className="eca-Chats-tools">
        {onTogglePin !== undefined && (
          <IconButton
            icon="pin"
            label={trans.__('Pin %1', title)}
            tooltip={isPinned ? trans.__('Unpin %1', title) : trans.__('Pin %1', title)}
            pressed={isPinned}
            onClick={() => {
              onTogglePin(chat.id);
            }}
          />
        )}
        {mayAsk && (
          <>
            <IconButton
              icon="edit"
              label={trans.__('Rename %1', title)}
              onClick={() => {
                setMode('renaming');
              }}
            />
            <IconButton
              icon="trash"
              label={trans.__('Delete %1', title)}
              onClick={() => {
                onDelete(chat.id, title);
              }}
            />
          </>
        )}
      </span>
    </li>
  );
}

/** The form for the new name of a chat. `onDone` gets the name, which is empty when the chat keeps its old name. */
function RenameForm({
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

/**
 * Shows what a chat is doing now or, if it does nothing, how and when its last turn ended. `updatedAt` is the time of
 * the chat's last change, in milliseconds since 1970.
 */
function ChatStateText({
  state,
  updatedAt
}: {
  readonly state: ChatState;
  readonly updatedAt: number;
}): React.ReactElement {
  const { trans } = useEnv();
  const mayApprove = useMayApprove();
  switch (state) {
    case 'waiting':
      return (
        <span className="eca-Chats-waiting">
          {mayApprove ? trans.__('waiting for you') : trans.__('waiting for approval')}
        </span>
      );
    case 'running':
      return <span className="eca-Shimmer">{trans.__('running')}</span>;
    case 'failed':
      return (
        <>
          <span className="eca-Chats-failed">{trans.__('failed')}</span> <ChatTime updatedAt={updatedAt} />
        </>
      );
    case 'done':
      return <ChatTime updatedAt={updatedAt} />;
  }
}

/** 24 hours in milliseconds. */
const DAY_MS = 86_400_000;

/** Shows when a chat was changed last: the time of day within the last 24 hours, otherwise the date. */
function ChatTime({ updatedAt }: { readonly updatedAt: number }): React.ReactElement {
  const date = new Date(updatedAt);
  const isWithinDay = Date.now() - updatedAt < DAY_MS;
  const text = isWithinDay
    ? date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
    : date.toLocaleDateString(undefined, { month: 'short', day: 'numeric' });
  return <time dateTime={date.toISOString()}>{text}</time>;
}
