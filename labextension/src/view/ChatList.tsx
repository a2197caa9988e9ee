/**
 * Shows the chats of the workspace in groups, and lets the user find, open, rename and delete them.
 *
 * This module knows no session: `App.tsx` passes what each button does. `chats/groups.ts` makes the groups, and
 * `chats/search.ts` finds the chats.
 */

import { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Excerpts, filterChats, markWords } from '../chats/search';
import { ChatGroup, ChatState, findState, groupChats, Grouping } from '../chats/groups';
import { ChatId, ChatSummary } from '../wire/protocol';
import { baseName, toPlainText } from '../render/format';
import { useEnv, usePreferences } from './common/env';
import { Icon, IconButton } from './common/Icon';
import { useMayApprove, useMayAsk } from './common/rights';

interface Props {
  /** All chats of the workspace, the newest first. */
  readonly chats: readonly ChatSummary[];
  /** The chat that the panel shows when the list is closed. */
  readonly current: ChatId;
  /** The path of the notebook in front; undefined when there is none. */
  readonly front: string | undefined;
  /** Returns the chats in which the words of a query were written. */
  readonly onSearch: (query: string) => Promise<Excerpts | undefined>;
  /** Shows a chat in the panel. */
  readonly onOpen: (id: ChatId) => void;
  readonly onRename: (id: ChatId, title: string) => void;
  readonly onDelete: (id: ChatId) => void;
}

/** The pause in typing after which the server is asked to search. */
const TYPING_MS = 200;

/** The list of chats, with a field to search in it. */
export function ChatList({ chats, front, onSearch, ...actions }: Props): React.ReactElement {
  const { trans, savePreferences } = useEnv();
  const mayApprove = useMayApprove();
  const preferences = usePreferences();
  const [query, setQuery] = React.useState('');
  const [grouping, setGrouping] = React.useState(preferences.chatGrouping);
  const excerpts = useExcerpts(query.trim(), onSearch);
  const found = filterChats(chats, query, excerpts);
  const groups = groupChats(found, grouping, { now: Date.now(), front });
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
      <p className={found.length === 0 ? 'eca-Note' : 'eca-Hidden'} role="status">
        {describeResult(chats.length, found.length, query.trim() !== '', excerpts === undefined, trans)}
      </p>
      {groups.map(group => (
        <section key={group.key} aria-label={nameGroup(group, grouping, mayApprove, trans)}>
          <h2 className="eca-Chats-group" title={grouping === 'notebook' ? group.key : undefined} dir="auto">
            {nameGroup(group, grouping, mayApprove, trans)}
          </h2>
          <ul>
            {group.chats.map(chat => (
              <Row
                key={chat.id}
                chat={chat}
                grouping={grouping}
                query={query}
                excerpt={excerpts?.get(chat.id) ?? ''}
                {...actions}
                current={chat.id === actions.current}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** Return what the server has found for the query; undefined while it searches, or when nothing is searched. */
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

/** Return the line above the list: how many chats were found, or why there are none. It is empty without a search. */
function describeResult(
  all: number,
  found: number,
  isSearch: boolean,
  isSearching: boolean,
  trans: TranslationBundle
): string {
  if (all === 0) {
    return trans.__('No chats yet.');
  }
  if (!isSearch) {
    return '';
  }
  if (isSearching) {
    return trans.__('Searching…');
  }
  return found === 0 ? trans.__('No chat has these words.') : trans._n('%1 chat', '%1 chats', found);
}

/** Return the heading of a group. Its key is a path, or the name of an age or a state: see `ChatGroup`. */
function nameGroup({ key }: ChatGroup, grouping: Grouping, mayApprove: boolean, trans: TranslationBundle): string {
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
  /** How the list is grouped. Without groups by notebook, the row names the notebook. */
  readonly grouping: Grouping;
  /** What the user searches for; its words are marked in the excerpt. */
  readonly query: string;
  /** The sentence that was found; empty for none. */
  readonly excerpt: string;
  /** Whether this is the chat that the panel shows when the list is closed. */
  readonly current: boolean;
};

/** One chat in the list. Its buttons rename it, and delete it after a question. */
function Row({ chat, grouping, query, excerpt, current, onOpen, onRename, onDelete }: RowProps): React.ReactElement {
  const { trans } = useEnv();
  const mayAsk = useMayAsk();
  /**
   * `renaming`: the form for the name is open. `deleting`: the user is asked whether to delete. `renamed`: the form was
   * closed, and the row gets the focus.
   */
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
          <State state={findState(chat)} at={chat.updatedAt} />
        </span>
        {grouping !== 'notebook' && chat.notebook !== undefined && (
          <span className="eca-Chats-notebook" title={chat.notebook} dir="auto">
            {baseName(chat.notebook)}
          </span>
        )}
        {excerpt !== '' && (
          <span className="eca-Chats-excerpt" dir="auto">
            {markWords(excerpt, query).map((piece, index) =>
              piece.found ? <mark key={index}>{piece.text}</mark> : piece.text
            )}
          </span>
        )}
      </button>
      {!mayAsk ? null : doing === 'deleting' ? (
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

/** The form for the new name of a chat. `onDone` gets the name, which is empty when the chat keeps its old name. */
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

/** Shows what a chat is doing now or, if it does nothing, how and when (`at`) it ended. */
function State({ state, at }: { readonly state: ChatState; readonly at: number }): React.ReactElement {
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
          <span className="eca-Chats-failed">{trans.__('failed')}</span> <ChatTime at={at} />
        </>
      );
    case 'done':
      return <ChatTime at={at} />;
  }
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
