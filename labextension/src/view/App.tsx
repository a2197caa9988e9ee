/** The panel: a chat, its prompt box and the list of chats. What is done is done by the session. */

import * as React from 'react';

import { again, Extent, fork, goBack } from '../back';
import { UserBlock } from '../blocks';
import { accept, look, reject } from '../changes';
import { remove, rename } from '../chats';
import { Offer, offers } from '../offer';
import { ChatContext } from '../protocol';
import { Session } from '../session';
import { Chat, State } from '../state';
import { Trigger } from '../trigger';
import { announcement } from './announcement';
import { Boundary } from './Boundary';
import { ChatList } from './ChatList';
import { Around } from './Chips';
import { Composer, Draft } from './Composer';
import { useEnv } from './env';
import { Icon, IconButton } from './Icon';
import { Pickers } from './Pickers';
import { Question } from './Question';
import { StatusLine } from './StatusLine';
import { Transcript } from './Transcript';
import { Welcome } from './Welcome';

/** Where the reader is in the notebook. `read` gives it as it is at that moment. */
export interface Surroundings {
  readonly subscribe: (watcher: () => void) => () => void;
  readonly current: () => Around | undefined;
  readonly read: () => readonly ChatContext[];
}

interface Props {
  readonly session: Session;
  readonly surroundings: Surroundings;
}

export function App({ session, surroundings }: Props): React.ReactElement {
  const { trans } = useEnv();
  const state = React.useSyncExternalStore(session.subscribe, () => session.state);
  const { chat } = session;
  const [listing, setListing] = React.useState(false);
  return (
    <div
      className="eca-Panel"
      onKeyDown={event => {
        if (event.key === 'Escape' && listing) {
          setListing(false);
        }
      }}
    >
      <Header
        title={listing ? trans.__('Chats') : chat.title || trans.__('New chat')}
        listing={listing}
        onList={() => {
          void session.list();
          setListing(!listing);
        }}
        onNew={() => {
          setListing(false);
          session.newChat();
        }}
      />
      <Messages session={session} messages={state.messages} />
      <Boundary instead={trans.__('This chat could not be shown.')} key={listing ? 'chats' : String(chat.id)}>
        {listing ? (
          <ChatList
            chats={state.list}
            current={chat.id}
            onOpen={id => {
              setListing(false);
              void session.openChat(id);
            }}
            onRename={(id, title) => void rename(session, id, title)}
            onDelete={id => void remove(session, id)}
          />
        ) : (
          <Talk session={session} state={state} chat={chat} surroundings={surroundings} />
        )}
      </Boundary>
      <StatusLine connection={state.connection} usage={chat.usage} onReconnect={() => void session.connect()} />
      <p className="eca-Hidden" role="status" aria-live="polite">
        {announcement(state, chat, trans)}
      </p>
    </div>
  );
}

interface HeaderProps {
  readonly title: string;
  readonly listing: boolean;
  readonly onList: () => void;
  readonly onNew: () => void;
}

function Header({ title, listing, onList, onNew }: HeaderProps): React.ReactElement {
  const { trans } = useEnv();
  return (
    <header className="eca-Header">
      <IconButton
        icon={listing ? 'back' : 'chats'}
        label={listing ? trans.__('Back to the chat') : trans.__('All chats')}
        onClick={onList}
      />
      <h1 title={title} dir="auto">
        {title}
      </h1>
      <IconButton icon="add" label={trans.__('New chat')} onClick={onNew} />
    </header>
  );
}

function Messages({
  session,
  messages
}: {
  readonly session: Session;
  readonly messages: State['messages'];
}): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-Messages">
      {messages.slice(-3).map(({ key, type, text }) => (
        <div key={key} className={`eca-Message eca-mod-${type}`} role={type === 'error' ? 'alert' : undefined}>
          <Icon name="alert" />
          <span dir="auto">{text.slice(0, 500)}</span>
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

interface TalkProps extends Props {
  readonly state: State;
  readonly chat: Chat;
}

function Talk({ session, state, chat, surroundings }: TalkProps): React.ReactElement {
  const { trans } = useEnv();
  const around = React.useSyncExternalStore(surroundings.subscribe, surroundings.current);
  const [editing, setEditing] = React.useState<UserBlock>();
  const [draft, setDraft] = useDrafts(session);
  const busy = chat.status !== 'idle';
  const query = React.useCallback(
    (trigger: Trigger, contexts: readonly ChatContext[]): Promise<readonly Offer[]> =>
      offers(trigger, chat.id, contexts, (method, params) => session.request(method, params)),
    [session, chat.id]
  );
  const onApprove = React.useCallback(
    (id: string, whole: boolean) => {
      session.approve(id, whole);
    },
    [session]
  );
  const onBackground = React.useCallback(
    (id: string) => {
      void session.ask('chat/toolCallBackground', { chatId: session.chat.id, id });
    },
    [session]
  );
  const onReject = React.useCallback(
    (id: string, reason: string) => {
      session.reject(id, reason);
    },
    [session]
  );
  const onEdit = React.useCallback(
    (block: UserBlock) => {
      setEditing(block);
      setDraft(block.text);
    },
    [setDraft]
  );
  const onRetry = React.useCallback(
    (block: UserBlock) => {
      void again(session, block.contentId, block.text);
    },
    [session]
  );
  const onFork = React.useCallback((block: UserBlock) => void fork(session, block), [session]);
  const onBack = React.useCallback(
    (block: UserBlock, extent: Extent) => void goBack(session, block, extent),
    [session]
  );
  const review = React.useMemo(
    () => ({
      onAccept: (changes: Parameters<typeof accept>[1]) => accept(session, changes),
      onReject: (changes: Parameters<typeof reject>[1]) => reject(session, changes)
    }),
    [session]
  );
  useLooking(session, chat, state.connection === 'open');
  const send = async (text: string, contexts: readonly ChatContext[], along: boolean): Promise<boolean> => {
    if (busy) {
      session.steer(text);
      return true;
    }
    const all = along ? [...surroundings.read(), ...contexts] : contexts;
    const taken = editing === undefined ? session.prompt(text, all) : again(session, editing.contentId, text, all);
    setEditing(undefined);
    return taken;
  };
  return (
    <>
      {chat.blocks.length === 0 && !busy ? (
        <div className="eca-Transcript-frame eca-mod-empty">
          <Welcome
            configured={state.configured || state.connection === 'absent'}
            models={state.models}
            welcome={state.welcome}
            onTry={setDraft}
            report={async () => (await session.ask('workspace/doctor', {}))?.text}
          />
        </div>
      ) : (
        <Transcript
          blocks={chat.blocks}
          ends={chat.ends}
          changes={chat.changes}
          review={review}
          busy={busy}
          progress={chat.status === 'stopping' ? trans.__('Stopping…') : chat.progress}
          onApprove={onApprove}
          onReject={onReject}
          onBackground={onBackground}
          onEdit={onEdit}
          onRetry={onRetry}
          onFork={onFork}
          onBack={onBack}
        >
          {chat.questions.map(question => (
            <Question
              key={question.key}
              question={question}
              onAnswer={(key, answer) => {
                session.answer(key, answer);
              }}
            />
          ))}
          {chat.steers.length > 0 && (
            <div className="eca-User eca-mod-waiting">
              <p dir="auto">{chat.steers.join('\n\n')}</p>
              <small>
                {trans.__('Waits for the next step')}{' '}
                <button
                  type="button"
                  className="eca-Link"
                  onClick={() => {
                    session.unsteer();
                  }}
                >
                  {trans.__('Take back')}
                </button>
              </small>
            </div>
          )}
        </Transcript>
      )}
      <Composer
        busy={busy}
        connected={state.connection === 'open'}
        editing={editing !== undefined}
        draft={draft}
        around={around}
        query={query}
        onSend={send}
        onStop={() => {
          session.stop();
        }}
        onCancelEdit={() => {
          setEditing(undefined);
        }}
        onEditLast={() => {
          const last = chat.blocks.findLast((block): block is UserBlock => block.kind === 'user');
          if (last !== undefined) {
            onEdit(last);
          }
        }}
        onTrouble={text => {
          session.say('warning', text);
        }}
      >
        <Pickers
          selection={{ ...state.selection, ...chat.selection }}
          models={state.models}
          agents={state.agents}
          onChoose={selection => {
            session.choose(selection);
          }}
        />
      </Composer>
    </>
  );
}

/** Looks again what stands of the changes whenever the chat has come to rest, and when something was said in it since. */
function useLooking(session: Session, { id, seq, status, replay }: Chat, connected: boolean): void {
  const at = connected && status === 'idle' && replay === undefined ? seq : 0;
  React.useEffect(() => {
    if (at > 0) {
      void look(session, id);
    }
  }, [session, id, at]);
}

/** What is put into the prompt box from elsewhere. */
function useDrafts(session: Session): readonly [Draft, (text: string) => void] {
  const [draft, setDraft] = React.useState<Draft>({ key: 0, text: '' });
  const put = React.useCallback((text: string) => {
    setDraft(before => ({ key: before.key + 1, text }));
  }, []);
  React.useEffect(() => {
    session.onDraft = put;
    return () => {
      session.onDraft = () => undefined;
    };
  }, [session, put]);
  return [draft, put];
}
