/**
 * Draws the whole panel: the header and, below it, a chat with its prompt box or the list of chats.
 *
 * This module keeps only the state of the view. The session (`chat/session.ts`) does what the user asks for. The parts
 * of the view are in `transcript/` (the messages of the chat), `tools/` (the cards of tool calls) and `composer/` (the
 * prompt box and what is around it).
 *
 * While a turn is running, the user may send more messages. A steering message (`Chat.steers`) goes to the running
 * turn. A queued message (`Chat.queue`) waits for the end of the turn.
 */

import * as React from 'react';

import { askAgain, Extent, forkChat, rollBack } from '../chat/rollback';
import { Block, findPlan, UserBlock } from '../chat/blocks';
import { keepChanges, loadChanges, undoChanges } from '../chat/changes';
import { deleteChat, renameChat, restoreChat } from '../chat/chat_list';
import { listChatsOfOthers, listWaitingChats } from '../chat/waiting_chats';
import { describeProgress } from '../chat/status_text';
import { FoundMessage, openFoundChat } from '../chats/found_message';
import { searchChats } from '../chats/search';
import { Drafts, putBackMessage, startChat, UnsentMessage } from '../chat/drafts';
import { createElement } from './common/element';
import { FirstSteps } from './first_run/first_steps';
import { fetchOlderPage } from '../chat/fetch_page';
import { estimatePrompt, estimateWithRequest } from '../chat/estimates';
import { Suggestions, listSuggestions } from '../chat/suggestions';
import { endsWithOutline } from './tools/outline';
import type { Change } from '../chat/types';
import { ChatContext, ChatId } from '../wire/protocol';
import { isCommand } from '../chat/command_names';
import { dequeue, enqueue } from '../chat/queue';
import { Session } from '../chat/session';
import { Chat, Selection, State } from '../chat/state';
import { toPlainText } from '../render/format';
import { Trigger } from '../mentions/completion_trigger';
import { describeForScreenReader } from './announcement';
import { Boundary } from './common/Boundary';
import { ChatList } from './ChatList';
import { EditorPlace } from './composer/Chips';
import { Composer, InsertedText } from './composer/Composer';
import { useEnv, usePreferences } from './common/env';
import { EstimateSource } from './composer/Estimate';
import { Export } from './Export';
import { IconButton } from './common/Icon';
import { Instructions, InstructionsSource } from './Instructions';
import { PROMPT_BOX, useFocusRestoration } from './common/focus_restoration';
import { Messages } from './common/Messages';
import { ChatPeople, usePeople } from './common/people';
import { Rights, useMayAsk } from './common/rights';
import { openPicker, Pickers } from './composer/Pickers';
import { ApproveAll, approveShownCalls } from './tools/ApproveAll';
import {
  CallInChat,
  getFieldKind,
  listWaitingCalls,
  getCallKey,
  NextDecision,
  readDecisionKey
} from './tools/decision_keys';
import { CarryOutButton, OutlineDecision, Plan } from './tools/Plan';
import { Question } from './transcript/Question';
import { StatusLine } from './StatusLine';
import { Transcript } from './transcript/Transcript';
import { TrustNotice } from './TrustNotice';
import { WaitingChats } from './WaitingChats';
import { PendingMessage } from './transcript/PendingMessage';
import { Welcome } from './Welcome';

/** Where the user works: in a cell of a notebook, or in a file. */
export interface Surroundings {
  /** Calls `subscriber` whenever the place has changed. The returned function ends that. */
  readonly subscribe: (subscriber: () => void) => () => void;
  /** Returns the place in words; undefined when there is none. */
  readonly current: () => EditorPlace | undefined;
  /** Returns the place as contexts of a prompt, as it is at that moment. */
  readonly readContexts: () => readonly ChatContext[];
  /** Returns the path of the notebook that the user worked in last; undefined when there is none. */
  readonly findNotebook?: () => string | undefined;
}

/** Used in place of `Surroundings.findNotebook` where the page has no such function. */
const findNoNotebook = (): undefined => undefined;

interface Props {
  readonly session: Session;
  /** What the user has typed in each chat and not sent. */
  readonly drafts: Drafts;
  /** Where the user works. */
  readonly surroundings: Surroundings;
  /** The instructions of the notebook in front. */
  readonly instructions: InstructionsSource;
  /** Returns whether a chat belongs to a notebook: the panel shows it again when the user goes to that notebook. */
  readonly isNotebookChat?: (chatId: ChatId) => boolean;
}

/** The whole panel. It is drawn again whenever the state of the session changes. */
export function App({
  session,
  drafts,
  surroundings,
  instructions,
  isNotebookChat = () => false
}: Props): React.ReactElement {
  const { trans } = useEnv();
  const state = React.useSyncExternalStore(session.subscribe, () => session.state);
  const { chat } = session;
  const activeNotebook = React.useSyncExternalStore(
    surroundings.subscribe,
    surroundings.findNotebook ?? findNoNotebook
  );
  /** Whether the list of chats is shown. */
  const [isListShown, showList] = React.useState(false);
  /** Whether the choice of the format for an export is shown. */
  const [isExportShown, showExport] = React.useState(false);
  /** How many chats the user has started with the button. */
  const [startedCount, setStartedCount] = React.useState(0);
  /** The message with which the chat was found, until the user goes to the list or to another chat. */
  const [found, setFound] = React.useState<FoundMessage>();
  React.useEffect(() => {
    setFound(before => (before?.chatId === chat.id ? before : undefined));
  }, [chat.id]);
  const panel = React.useRef<HTMLDivElement>(null);
  const waiting = React.useMemo(() => (isListShown ? [] : listWaitingCalls(chat)), [isListShown, chat]);
  const people = usePeople(chat, state.user);
  useFocusRestoration(panel);
  React.useEffect(() => {
    // What the user types next is the first message of the new chat.
    if (startedCount > 0) {
      panel.current?.querySelector<HTMLElement>(PROMPT_BOX)?.focus();
    }
  }, [startedCount]);
  useDraftCleanup(session, drafts);
  useRefusedMessageRecovery(session, drafts, isListShown);
  // `rights` is undefined for a user who may do everything. Otherwise `asks` says whether the user may send messages,
  // and `approves` whether the user may approve tool calls.
  const mayAsk = state.rights?.asks !== false;
  return (
    <Rights.Provider value={state.rights}>
      <div
        ref={panel}
        className="eca-Panel"
        onKeyDownCapture={event => {
          decideWithKey(session, state.rights?.approves === false ? [] : waiting, event);
        }}
        onKeyDown={event => {
          if (event.key === 'Escape' && isListShown) {
            showList(false);
          } else if (isListShown && isUndoKey(event)) {
            undoLastDeletion(session, drafts);
          }
        }}
      >
        <Header
          title={isListShown ? trans.__('Chats') : toPlainText(chat.title) || trans.__('New chat')}
          isListShown={isListShown}
          onToggleList={() => {
            void session.loadChats();
            setFound(undefined);
            showExport(false);
            showList(!isListShown);
          }}
          onExport={
            !mayAsk || isListShown || chat.blocks.length === 0 || chat.status !== 'idle'
              ? undefined
              : () => {
                  showExport(!isExportShown);
                }
          }
          onNew={
            mayAsk
              ? () => {
                  showList(false);
                  startChat(session, drafts, isNotebookChat);
                  setStartedCount(before => before + 1);
                }
              : undefined
          }
        />
        {isExportShown && (
          <Export
            onChoose={suffix => {
              showExport(false);
              if (suffix !== undefined) {
                void session.prompt(`/export ${suffix}`, []);
              }
            }}
          />
        )}
        <Messages
          session={session}
          messages={state.messages}
          onRestore={deleted => void restoreChat(session, drafts, deleted)}
        />
        {!isListShown && (
          <WaitingChats
            waiting={listWaitingChats(state)}
            ofOthers={listChatsOfOthers(state, activeNotebook)}
            onOpen={id => {
              void session.openChat(id);
            }}
          />
        )}
        <TrustNotice
          untrusted={state.untrusted}
          onTrust={async ({ folder, digest }) => {
            await session.requestOrShowError('workspace/trust', { folder, digest });
          }}
        />
        <Boundary fallback={trans.__('This chat could not be shown.')} key={isListShown ? 'chats' : String(chat.id)}>
          {isListShown ? (
            <ChatList
              chats={state.list}
              currentChat={chat.id}
              activeNotebook={activeNotebook}
              onSearch={query => searchChats(session, query)}
              onOpen={(id, query) => {
                showList(false);
                void openFoundChat(session, id, query).then(message => {
                  if (message !== undefined) {
                    setFound(message);
                  }
                });
              }}
              onRename={(id, title) => void renameChat(session, id, title)}
              onDelete={(id, title) => {
                void deleteChat(session, drafts, id, trans.__('Deleted: %1', title));
              }}
            />
          ) : (
            <ChatPeople.Provider value={people}>
              {/* The call that a key decides about when the focus is in no other call; empty when none waits. */}
              <NextDecision.Provider value={waiting[0] === undefined ? '' : getCallKey(waiting[0])}>
                <ChatView
                  session={session}
                  drafts={drafts}
                  state={state}
                  chat={chat}
                  waiting={waiting}
                  found={found}
                  surroundings={surroundings}
                  instructions={instructions}
                />
              </NextDecision.Provider>
            </ChatPeople.Provider>
          )}
        </Boundary>
        <StatusLine
          connection={state.connection}
          usage={chat.usage}
          onReconnect={() => void session.connect()}
          onReload={() => {
            window.location.reload();
          }}
          onCompact={mayAsk && chat.status === 'idle' ? () => void session.prompt('/compact', []) : undefined}
          estimate={() => estimatePrompt(session, '', [])}
        />
        <p className="eca-Hidden" role="status" aria-live="polite">
          {describeForScreenReader(state, chat, trans)}
        </p>
      </div>
    </Rights.Provider>
  );
}

/** Whether a key undoes the last deletion: Ctrl+Z, but not in a text field, where it undoes what was typed. */
function isUndoKey({ key, ctrlKey, metaKey, shiftKey, target }: React.KeyboardEvent): boolean {
  return key.toLowerCase() === 'z' && (ctrlKey || metaKey) && !shiftKey && getFieldKind(target) === 'none';
}

/** Bring back the chat that was deleted last, and close the notice about it. Without such a notice, do nothing. */
function undoLastDeletion(session: Session, drafts: Drafts): void {
  const notice = session.state.messages.findLast(({ deleted }) => deleted !== undefined);
  if (notice?.deleted !== undefined) {
    session.dismiss(notice.key);
    void restoreChat(session, drafts, notice.deleted);
  }
}

/**
 * Handle a key that approves or rejects a tool call: the call that has the focus or, if none has it, the first call
 * that waits. Another key approves all calls. `waiting` are the calls that wait for a decision.
 */
function decideWithKey(session: Session, waiting: readonly CallInChat[], event: React.KeyboardEvent): void {
  const { key, ctrlKey, metaKey, shiftKey, altKey, repeat, target } = event;
  const decision = readDecisionKey({ key, ctrlKey, metaKey, shiftKey, altKey, repeat, field: getFieldKind(target) });
  const focused = target instanceof Element ? target.closest('.eca-Tool[data-status=waiting]') : null;
  const next = waiting.find(call => getCallKey(call) === focused?.getAttribute('data-call')) ?? waiting[0];
  if (decision === undefined || next === undefined) {
    return;
  }
  // While the user writes the reason of a rejection or a rule, the card has no button *Approve*, which is the one with
  // this attribute. Then the keys do nothing.
  const card = event.currentTarget.querySelector(`.eca-Tool[data-call="${CSS.escape(getCallKey(next))}"]`);
  if (decision !== 'approveAll' && card?.querySelector('[aria-keyshortcuts="Control+Enter"]') == null) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  if (decision === 'approveAll') {
    approveShownCalls(session, waiting);
  } else if (decision === 'approve') {
    approveShownCalls(session, [next]);
  } else {
    session.reject(next.block.id, '', next.chatId);
  }
}

interface HeaderProps {
  readonly title: string;
  /** Whether the list of chats is shown, and not a chat. */
  readonly isListShown: boolean;
  /** Opens the list of chats, or closes it. */
  readonly onToggleList: () => void;
  /** Exports the chat. Undefined while there is nothing to export, and for a user who may only read. */
  readonly onExport: (() => void) | undefined;
  /** Starts a new chat; undefined for a user who may only read. */
  readonly onNew: (() => void) | undefined;
}

/** The line at the top of the panel. */
function Header({ title, isListShown, onToggleList, onExport, onNew }: HeaderProps): React.ReactElement {
  const { trans, openSettings, savePreferences } = useEnv();
  const { pinChat } = usePreferences();
  return (
    <div className="eca-Header">
      <IconButton
        icon={isListShown ? 'back' : 'chats'}
        label={isListShown ? trans.__('Back to the chat') : trans.__('All chats')}
        onClick={onToggleList}
      />
      <h1 title={title} dir="auto">
        {title}
      </h1>
      {savePreferences && !isListShown && (
        <IconButton
          icon="pin"
          label={trans.__('Pin this chat: keep it when you go to another notebook')}
          pressed={pinChat}
          onClick={() => {
            savePreferences({ pinChat: !pinChat });
          }}
        />
      )}
      {onExport !== undefined && <IconButton icon="save" label={trans.__('Export this chat')} onClick={onExport} />}
      {onNew !== undefined && <IconButton icon="add" label={trans.__('New chat')} onClick={onNew} />}
      {openSettings && (
        <IconButton
          icon="gear"
          label={trans.__('Settings of the assistant')}
          onClick={() => {
            openSettings();
          }}
        />
      )}
    </div>
  );
}

interface ChatViewProps extends Props {
  readonly state: State;
  readonly chat: Chat;
  /** The calls that wait for a decision, in the order in which they are drawn. */
  readonly waiting: readonly CallInChat[];
  /** The message with which the chat was found; undefined if it was opened in another way. */
  readonly found: FoundMessage | undefined;
}

/** Draws a chat with its prompt box. */
function ChatView(props: ChatViewProps): React.ReactElement {
  const { session, drafts, state, chat, waiting, found, surroundings, instructions } = props;
  const { trans } = useEnv();
  const place = React.useSyncExternalStore(surroundings.subscribe, surroundings.current);
  /** The earlier message that the user has chosen to edit; undefined while the prompt box has a new message. */
  const [chosenMessage, setChosenMessage] = React.useState<UserBlock>();
  // The message may be gone by now: the chat was rolled back, here or in another tab.
  const editedMessage =
    chosenMessage !== undefined && chat.blocks.some(block => isSameMessage(block, chosenMessage))
      ? chosenMessage
      : undefined;
  const [insertedText, insertText] = useTextInsertion(session);
  /** How many messages were sent here. When the number grows, the transcript scrolls to its end. */
  const [sentCount, setSentCount] = React.useState(0);
  /** Whether a turn is running. */
  const busy = chat.status !== 'idle';
  const plan = React.useMemo(() => findPlan(chat.blocks, chat.tasks), [chat.blocks, chat.tasks]);
  const hasOutline = React.useMemo(() => !busy && endsWithOutline(chat.blocks), [busy, chat.blocks]);
  const query = React.useCallback(
    (trigger: Trigger, contexts: readonly ChatContext[]): Promise<Suggestions> =>
      listSuggestions(trigger, chat.id, contexts, (method, params) => session.request(method, params)),
    [session, chat.id]
  );
  const estimates = useEstimates(session, surroundings, { ...state.selection, ...chat.selection }, chat.id);
  // These functions stay the same objects, so that the transcript is not drawn again with each letter that is typed.
  const onApprove = React.useCallback(
    (id: string, forSession: boolean, chatId: ChatId) => {
      session.approve(id, forSession, chatId);
    },
    [session]
  );
  const onBackground = React.useCallback(
    (id: string, chatId: ChatId) => {
      void session.requestOrShowError('chat/toolCallBackground', { chatId, id });
    },
    [session]
  );
  const onReject = React.useCallback(
    (id: string, reason: string, chatId: ChatId) => {
      session.reject(id, reason, chatId);
    },
    [session]
  );
  const onEdit = React.useCallback(
    (block: UserBlock) => {
      setChosenMessage(block);
      insertText(block.text, 'replace', block.contexts);
    },
    [insertText]
  );
  const onCancelEdit = React.useCallback(() => {
    setChosenMessage(undefined);
    const { text, contexts } = drafts.get(chat.id);
    insertText(text, 'replace', contexts);
  }, [drafts, insertText, chat.id]);
  const onUnsent = React.useCallback(
    (message: UnsentMessage) => {
      drafts.set(chat.id, message);
    },
    [drafts, chat.id]
  );
  const onRetry = React.useCallback(
    (block: UserBlock) => {
      void askAgain(session, block.contentId, block.text, block.contexts);
    },
    [session]
  );
  const pickers = React.useRef<HTMLDivElement>(null);
  const focusPromptBox = (): void => {
    pickers.current?.closest('.eca-Panel')?.querySelector<HTMLElement>(PROMPT_BOX)?.focus();
  };
  const onChooseModel = React.useCallback(() => {
    openPicker(pickers.current, 'model');
  }, []);
  const onChooseAgent = React.useCallback(() => {
    openPicker(pickers.current, 'agent');
  }, []);
  /** Whether the chat has an outside agent, which chooses its model itself. */
  const hasOutsideAgent = state.outsideAgents.includes({ ...state.selection, ...chat.selection }.agent);
  const onFork = React.useCallback((block: UserBlock) => void forkChat(session, block), [session]);
  const onRollBack = React.useCallback(
    (block: UserBlock, extent: Extent) => {
      if (editedMessage !== undefined) {
        onCancelEdit();
      }
      void rollBack(session, block, extent);
    },
    [session, editedMessage, onCancelEdit]
  );
  // The functions that keep and undo changes.
  const review = React.useMemo(
    () => ({
      onKeep: (changes: readonly Change[]) => keepChanges(session, changes),
      onUndo: (changes: readonly Change[]) => undoChanges(session, changes)
    }),
    [session]
  );
  const mayAsk = useMayAsk();
  // Sends the requests for setting up a first model, which the welcome page offers.
  const firstSteps = React.useMemo(() => new FirstSteps(session), [session]);
  useChangesLoading(session, chat, state.connection === 'open');
  /**
   * Send what the user has typed, and return whether it was accepted. `withPlace`: add the place in the notebook as a
   * context. `afterTurn`: if a turn is running, send the message when that turn has ended. Otherwise the message steers
   * the turn. A command such as `/costs` always waits for the end, because the model would read it as plain text.
   */
  const send = async (text: string, contexts: readonly ChatContext[], withPlace: boolean, afterTurn: boolean) => {
    const allContexts = withPlace ? [...surroundings.readContexts(), ...contexts] : contexts;
    setSentCount(before => before + 1);
    if (busy) {
      if (afterTurn || isCommand(text)) {
        enqueue(session, text, allContexts);
      } else {
        session.steer(text, allContexts);
      }
      return true;
    }
    if (editedMessage === undefined) {
      return session.prompt(text, allContexts);
    }
    // The box contains an earlier message that the user has edited. After it was sent, the box gets back the new
    // message that the user was writing before.
    const unsent = drafts.get(chat.id);
    const accepted = await askAgain(session, editedMessage.contentId, text, allContexts);
    if (accepted) {
      setChosenMessage(undefined);
      insertText(unsent.text, 'replace', unsent.contexts);
    }
    return accepted;
  };
  const composer = (
    <Composer
      busy={busy}
      connected={state.connection === 'open'}
      editing={editedMessage !== undefined}
      insertedText={insertedText}
      unsent={drafts.get(chat.id)}
      onUnsentChange={onUnsent}
      place={place}
      query={query}
      estimates={estimates}
      onSend={send}
      onStop={() => {
        session.stop();
      }}
      onCancelEdit={onCancelEdit}
      onEditLast={() => {
        const last = chat.blocks.findLast((block): block is UserBlock => block.kind === 'user');
        if (last !== undefined) {
          onEdit(last);
        }
      }}
      onWarning={text => {
        session.showMessage('warning', text);
      }}
    >
      <Pickers
        frame={pickers}
        selection={{ ...state.selection, ...chat.selection }}
        models={state.models}
        agents={state.agents}
        outsideAgents={state.outsideAgents}
        agentOptions={chat.agentOptions ?? []}
        chosenOptions={chat.chosenOptions ?? {}}
        onChooseOption={(option, value) => {
          session.chooseOption(option, value);
        }}
        onChoose={selection => {
          session.choose(selection);
        }}
      />
    </Composer>
  );
  return (
    <>
      {chat.blocks.length === 0 && !busy ? (
        <div className="eca-Transcript-frame eca-mod-empty">
          {mayAsk ? (
            // Without an assistant on the server (`absent`), no list of models will come, so the page does not wait for
            // it.
            <Welcome
              hasModelList={state.configured || state.connection === 'absent'}
              needsModel={!hasOutsideAgent}
              models={state.models}
              providers={Object.values(state.providers)}
              chatCount={state.list.length}
              steps={firstSteps}
              errors={state.messages.flatMap(({ type, text }) => (type === 'error' ? [text] : []))}
              welcome={state.welcome}
              onInsertQuestion={text => {
                insertText(text, 'replace');
              }}
              onChooseModel={model => {
                session.choose({ model });
              }}
            />
          ) : (
            <div className="eca-Welcome">
              <p className="eca-Note">{trans.__('To read a chat, open it in the list of all chats.')}</p>
            </div>
          )}
        </div>
      ) : (
        <Transcript
          blocks={chat.blocks}
          subagents={chat.subagents}
          endedTurns={chat.endedTurns}
          changes={chat.changes}
          ratings={chat.ratings}
          review={review}
          busy={busy}
          sentCount={sentCount}
          found={sentCount === 0 ? found : undefined}
          onEarlier={chat.startCursor === undefined ? undefined : () => void fetchOlderPage(session, chat)}
          progress={describeProgress(chat, trans)}
          chatId={chat.id}
          onApprove={onApprove}
          onReject={onReject}
          onBackground={onBackground}
          onEdit={onEdit}
          onRetry={onRetry}
          onChooseModel={mayAsk && !hasOutsideAgent && state.models.length > 0 ? onChooseModel : undefined}
          onChooseAgent={mayAsk && hasOutsideAgent && state.agents.length > 1 ? onChooseAgent : undefined}
          onFork={onFork}
          onRollBack={onRollBack}
        >
          {chat.hasProposedPlan === true && !busy && mayAsk && (
            <CarryOutButton
              onCarryOut={() => {
                // The server switches the chat to an agent that may change things.
                void session.prompt('/go', []);
              }}
            />
          )}
          {hasOutline && chat.hasProposedPlan !== true && mayAsk && (
            <OutlineDecision
              onApprove={() => {
                void session.prompt(trans.__('Make it'), []);
              }}
              onChange={focusPromptBox}
            />
          )}
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
            <PendingMessage
              text={chat.steers.map(({ text }) => text).join('\n\n')}
              contexts={chat.steers.flatMap(({ contexts }) => contexts)}
              waitsFor={trans.__('Waits for the next step')}
              onTakeBack={() => {
                session.takeBackWaitingMessages();
              }}
            />
          )}
          {chat.queue?.map(({ text, contexts }, index) => (
            <PendingMessage
              key={index}
              text={text}
              contexts={contexts}
              waitsFor={trans.__('Waits for the end of the answer')}
              onTakeBack={() => {
                dequeue(session, index);
              }}
            />
          ))}
        </Transcript>
      )}
      <ApproveAll
        calls={waiting}
        onApproveAll={shownCalls => {
          approveShownCalls(session, shownCalls);
        }}
      />
      {plan !== undefined && <Plan details={plan} />}
      <Instructions source={instructions} />
      {mayAsk ? composer : <p className="eca-Note eca-Rights">{state.rights?.reason}</p>}
    </>
  );
}

/** When a chat is deleted, also delete what was typed in it. */
function useDraftCleanup(session: Session, drafts: Drafts): void {
  React.useEffect(() => {
    session.onDeleted = chatId => {
      drafts.delete(chatId);
    };
    return () => {
      session.onDeleted = () => undefined;
    };
  }, [session, drafts]);
}

/**
 * When the server refuses a message that waited, put it back into the prompt box or, while the list of chats is shown
 * (`isListShown`), into the draft of its chat.
 */
function useRefusedMessageRecovery(session: Session, drafts: Drafts, isListShown: boolean): void {
  React.useEffect(() => {
    session.onMessageRefused = (chatId, message) => {
      // There is no prompt box while the list of chats is shown.
      putBackMessage(session, drafts, chatId, message, !isListShown);
    };
    return () => {
      session.onMessageRefused = () => undefined;
    };
  }, [session, drafts, isListShown]);
}

/**
 * Load the list of the assistant's changes whenever a turn has ended and the chat has new contents. `seq` is the number
 * of the last content, and `replay` is present while the stored contents are being loaded. `connected`: the page is
 * connected with the server.
 */
function useChangesLoading(session: Session, { id, seq, status, replay }: Chat, connected: boolean): void {
  // 0 while the contents may still change: then nothing is loaded.
  const settledSeq = connected && status === 'idle' && replay === undefined ? seq : 0;
  React.useEffect(() => {
    if (settledSeq > 0) {
      void loadChanges(session, id);
    }
  }, [session, id, settledSeq]);
}

/**
 * Return the functions that estimate the tokens and the cost of a message. Whenever the model, agent, variant or chat
 * changes, a new object is returned. The prompt box then requests a new estimate, because the cost has changed.
 */
function useEstimates(
  session: Session,
  surroundings: Surroundings,
  { model, agent, variant }: Selection,
  chatId: ChatId
): EstimateSource {
  return React.useMemo(() => {
    const addPlace = (contexts: readonly ChatContext[], withPlace: boolean) =>
      withPlace ? [...surroundings.readContexts(), ...contexts] : contexts;
    return {
      estimate: (text, contexts, withPlace) => estimatePrompt(session, text, addPlace(contexts, withPlace)),
      estimateWithRequest: (text, contexts, withPlace) =>
        estimateWithRequest(session, text, addPlace(contexts, withPlace))
    };
  }, [session, surroundings, model, agent, variant, chatId]);
}

/** Whether a block is this message. A message has an id as soon as the server has stored it. */
function isSameMessage(block: Block, message: UserBlock): boolean {
  return block.kind === 'user' && (block.contentId ?? block.key) === (message.contentId ?? message.key);
}

/** Puts a text into the prompt box. `how`: the text is added to the text in the box (`add`), or replaces it. */
type InsertText = (text: string, how: InsertedText['how'], contexts?: readonly ChatContext[]) => void;

/**
 * Return the text that was last put into the prompt box by another part of the page, and a function that puts a text
 * into the box.
 */
function useTextInsertion(session: Session): readonly [InsertedText, InsertText] {
  const [insertedText, setInsertedText] = React.useState<InsertedText>({ key: 0, text: '', contexts: [], how: 'add' });
  const insertText = React.useCallback<InsertText>((text, how, contexts = []) => {
    setInsertedText(before => ({ key: before.key + 1, text, contexts, how }));
  }, []);
  React.useEffect(() => {
    session.onInsertText = (text, contexts) => {
      insertText(text, 'add', contexts);
    };
    return () => {
      session.onInsertText = () => undefined;
    };
  }, [session, insertText]);
  return [insertedText, insertText];
}
