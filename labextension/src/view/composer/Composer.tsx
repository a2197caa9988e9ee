/**
 * Draws the prompt box, and keeps its text, its contexts and the list of suggestions.
 *
 * A context is something that is sent with the message, such as a file or a cell. The text mentions some contexts (`@`
 * and a name). The others are shown as chips above the text. In this module, `unmentioned` are the contexts of the
 * chips, and `known` are the contexts that the text may mention.
 *
 * Enter sends and Shift+Enter begins a new line, or the other way round if the user prefers that. While a turn runs, a
 * message steers the turn: the model reads it during the turn. With Alt+Enter, the message waits for the end of the
 * turn. This module knows no session: `App.tsx` sends the message.
 */

import * as React from 'react';

import { isImage, toImageContext, LARGEST_IMAGE_BYTES, IMAGE_TYPES } from '../../chat/images';
import { toCellContext, parseCells, PastedCell } from '../../chat/pasted_cells';
import { isCommand } from '../../chat/command_names';
import { UnsentMessage } from '../../chat/drafts';
import { addContexts, chooseWord, createContextKey, findMentions, pickMentioned } from '../../mentions/mentions';
import { Suggestion, Suggestions } from '../../chat/suggestions';
import { ChatContext } from '../../wire/protocol';
import { findTypedMention, Trigger } from '../../mentions/completion_trigger';
import { createElement } from '../common/element';
import { Attach } from './Attach';
import { useLabDrop } from './lab_drop';
import { EditorPlace, Chips } from './Chips';
import { Completion, useCompletion } from './Completion';
import { useEnv, usePreferences } from '../common/env';
import { EstimateSource, EstimateLine } from './Estimate';
import { Icon, IconButton, StopIcon } from '../common/Icon';
import { PromptBox, typeText } from './PromptBox';
import { describeError } from '../common/error_text';

/** A text that another part of the panel puts into the prompt box. */
export interface InsertedText {
  /** Differs for each insertion, also when the text is the same twice. */
  readonly key: number;
  readonly text: string;
  /** The contexts that the text may mention. */
  readonly contexts: readonly ChatContext[];
  /**
   * `replace`: the text replaces what is in the box, and the box gets the focus. `add`: the text is added at the end.
   */
  readonly how: 'replace' | 'add';
}

interface Props {
  /** Whether a turn is running. */
  readonly busy: boolean;
  /**
   * Whether the page is connected with the server. Otherwise a message waits in the box until the page is connected.
   */
  readonly connected: boolean;
  /** Whether the box contains an earlier message, which the user edits. */
  readonly editing: boolean;
  /** The text that was last put into the box by another part of the page. */
  readonly insertedText: InsertedText;
  /** What was typed in this chat earlier and not sent. */
  readonly unsent: UnsentMessage;
  /** Called with the content of the box whenever it changes, except while the user edits an earlier message. */
  readonly onUnsentChange: (message: UnsentMessage) => void;
  /** The place of the user in a notebook or file, which is sent as a context unless the user leaves it out. */
  readonly place: EditorPlace | undefined;
  /** Makes the estimates of the tokens and the cost. */
  readonly estimates: EstimateSource;
  /** Returns the suggestions for what is typed. `contexts` are those of the chips, which are not suggested again. */
  readonly query: (trigger: Trigger, contexts: readonly ChatContext[]) => Promise<Suggestions>;
  /**
   * Sends a message. Returns whether the server accepted it; otherwise it stays in the box. `withPlace`: add the place
   * in the notebook. `afterTurn`: if a turn is running, send the message when that turn has ended.
   */
  readonly onSend: (
    text: string,
    contexts: readonly ChatContext[],
    withPlace: boolean,
    afterTurn: boolean
  ) => Promise<boolean>;
  /** Stops the turn. */
  readonly onStop: () => void;
  /** Called when the user stops editing the earlier message. */
  readonly onCancelEdit: () => void;
  /** Called for the key *arrow up* in an empty box: the user wants to edit the last message. */
  readonly onEditLast: () => void;
  /** Called with a warning for the user. */
  readonly onWarning: (text: string) => void;
  /** The pickers for the agent and the model, which are shown in the line with the buttons. */
  readonly children?: React.ReactNode;
}

/** Draws the prompt box with its suggestions, the chips, the estimate, and the line with the buttons. */
export function Composer(props: Props): React.ReactElement {
  const { busy, connected, editing, query, onSend, onStop, onUnsentChange } = props;
  const { trans, attachments, findCell = () => undefined } = useEnv();
  const { sendKey, chips } = usePreferences();
  // `chips`: whether the user wants the place to be offered as a context.
  const place = chips ? props.place : undefined;
  /** The id of the list of suggestions in the page. */
  const id = React.useId();
  const frame = React.useRef<HTMLDivElement>(null);
  const box = React.useRef<HTMLTextAreaElement>(null);
  const [text, setText] = React.useState(props.unsent.text);
  const [cursor, setCursor] = React.useState(0);
  const [unmentioned, setUnmentioned] = React.useState(() => dropMentioned(props.unsent));
  // A context stays known when its mention is deleted, because the user may undo the deletion.
  const [known, setKnown] = React.useState(() => pickMentioned(props.unsent.text, props.unsent.contexts));
  const [sendsPlace, setSendsPlace] = React.useState(true);
  /** Whether a message was sent, and the server has not accepted or refused it yet. */
  const [sending, setSending] = React.useState(false);
  /** The text that the user sent while there was no connection. It is sent later if the box still has the same text. */
  const [heldText, setHeldText] = React.useState<string>();
  const mentions = React.useMemo(() => findMentions(text, known), [text, known]);
  // All contexts that are sent with the message, except the place in the notebook.
  const contexts = React.useMemo(
    () => addContexts(pickMentioned(text, known), unmentioned),
    [unmentioned, text, known]
  );
  // Contexts that the text mentions are suggested again, because a message may mention one twice.
  const queryWithContexts = React.useCallback((trigger: Trigger) => query(trigger, unmentioned), [query, unmentioned]);
  const { list, move, close } = useCompletion(text, cursor, mentions, queryWithContexts);
  const replaceText = useTextReplacement(box, setText, setCursor);
  const addKnown = React.useCallback((added: readonly ChatContext[]) => {
    setKnown(before => addContexts(before, added));
  }, []);
  useInsertedText(props.insertedText, text, replaceText, box, addKnown);
  React.useEffect(() => {
    if (!editing) {
      onUnsentChange({ text, contexts });
    }
  }, [editing, onUnsentChange, text, contexts]);

  /**
   * Put a suggestion in the place of what was typed. The word of a context becomes a mention. A context without a word,
   * such as an image, becomes a chip. A suggestion without a context, such as a command, is the text `insert`.
   */
  const takeSuggestion = ({ context, insert = '' }: Suggestion): void => {
    if (list === undefined || box.current === null) {
      return;
    }
    const { start, query } = list.trigger;
    const end = start + query.length + 1;
    const word = context && chooseWord(context, known);
    if (context !== undefined && word !== undefined) {
      addKnown([context]);
    } else if (context !== undefined) {
      addChip(context);
    }
    // A space ends the word, unless one follows it already.
    typeText(
      box.current,
      { start, end },
      word === undefined ? insert : `${word}${/^\s/.test(text.slice(end)) ? '' : ' '}`
    );
  };
  /** Handle a change of the text. A mention that was typed completely counts as if it was chosen in the list. */
  const handleText = (newText: string, newCursor: number): void => {
    const typedWord = findTypedMention(text, newText, list?.trigger);
    if (typedWord !== undefined) {
      const offeredContexts = list?.suggestions?.flatMap(({ context }) => context ?? []) ?? [];
      addKnown(offeredContexts.filter(context => chooseWord(context, known) === typedWord).slice(0, 1));
    }
    setText(newText);
    setCursor(newCursor);
  };
  /** Add a context as a chip. A chip for the same context is replaced. */
  const addChip = (context: ChatContext): void => {
    setUnmentioned(before => [
      ...before.filter(other => createContextKey(other) !== createContextKey(context)),
      context
    ]);
  };
  /**
   * Add the contexts of files when `request` has them. An error, such as a file that is too large, becomes a warning.
   */
  const addFileContexts = (request: Promise<readonly ChatContext[]>): void => {
    void request.then(
      contexts => {
        contexts.forEach(addChip);
        box.current?.focus();
      },
      (error: unknown) => {
        props.onWarning(describeError(error, trans));
      }
    );
  };
  /** Attach files of the user's computer. Return whether at least one of them can be attached. */
  const attach = (files: readonly File[]): boolean => {
    const images = files.filter(isImage);
    const others = attachments === undefined ? [] : files.filter(file => !isImage(file));
    if (attachments !== undefined && others.length > 0) {
      addFileContexts(attachments.upload(others));
    }
    for (const file of images) {
      if (file.size > LARGEST_IMAGE_BYTES) {
        props.onWarning(trans.__('This image is too large. The limit is 5 MB.'));
      } else {
        void toImageContext(file).then(addChip, () => {
          props.onWarning(trans.__('This image cannot be read.'));
        });
      }
    }
    return images.length + others.length > 0;
  };
  /** Add cells that were pasted or dropped as chips. */
  const attachCells = (cells: readonly PastedCell[]): void => {
    for (const cell of cells) {
      addChip(toCellContext(cell, findCell));
    }
    box.current?.focus();
  };
  useLabDrop(frame, {
    onCells: attachCells,
    onPaths:
      attachments &&
      (paths => {
        addFileContexts(attachments.attachPaths(paths));
      })
  });
  /** Send the message: now, or after the running turn (`afterTurn`). When it is refused, it comes back into the box. */
  const send = async (afterTurn: boolean): Promise<void> => {
    const message = text.trim();
    if (message === '' || sending) {
      return;
    }
    if (!connected) {
      setHeldText(text);
      return;
    }
    setSending(true);
    replaceText('', 0);
    const accepted = await onSend(message, contexts, chips && sendsPlace, afterTurn);
    setSending(false);
    if (accepted) {
      setUnmentioned([]);
      // By now the user may be writing the next message.
      setKnown(before => pickMentioned(box.current?.value ?? '', before));
    } else {
      replaceText(message, message.length);
      // The text is also stored as a draft, because the user may have opened another chat, where this box is not shown.
      onUnsentChange({ text: message, contexts });
    }
  };
  // After each drawing: when the page is connected again, send the text that the user wanted to send before.
  React.useEffect(() => {
    if (connected && heldText !== undefined) {
      setHeldText(undefined);
      if (heldText === text) {
        void send(false);
      }
    }
  });
  /** Send the message by a click. The box gets the focus, because the button is disabled or removed afterwards. */
  const sendByButton = (afterTurn: boolean): void => {
    box.current?.focus();
    void send(afterTurn);
  };
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const suggestion = list?.suggestions?.[list.activeIndex];
    if (event.nativeEvent.isComposing) {
      return;
    }
    // Whether the whole name of the active command is typed, and the command needs no more.
    const isComplete =
      list?.trigger.kind === '/' && list.trigger.query === suggestion?.key && suggestion.needsWords !== true;
    const action = readKeyAction(event, {
      suggestion,
      isListOpen: list !== undefined,
      isComplete,
      sendsWithShift: sendKey === 'Shift+Enter'
    });
    if (action === undefined) {
      if (event.key === 'ArrowUp' && text === '' && !busy) {
        props.onEditLast();
      } else if (event.key === 'Escape' && editing) {
        props.onCancelEdit();
      }
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (action === 'send') {
      void send(event.altKey);
    } else if (action === 'close') {
      close();
    } else if (action === 'take' && suggestion !== undefined) {
      takeSuggestion(suggestion);
    } else {
      move(action === 'next' ? 1 : -1);
    }
  };

  const hasSuggestions = list?.suggestions?.length !== undefined && list.suggestions.length > 0;
  return (
    <div
      ref={frame}
      className="eca-Composer"
      onDragOver={event => {
        event.preventDefault();
      }}
      onDrop={event => {
        if (attach([...event.dataTransfer.files])) {
          event.preventDefault();
        }
      }}
    >
      {list !== undefined && <Completion id={id} list={list} onChoose={takeSuggestion} />}
      {editing && (
        <p className="eca-Composer-editing">
          {trans.__('Changing your last message')}
          <button type="button" className="eca-Link" onClick={props.onCancelEdit}>
            {trans.__('Cancel')}
          </button>
        </p>
      )}
      <Chips
        place={place}
        sendsPlace={sendsPlace}
        onSendsPlaceChange={setSendsPlace}
        contexts={unmentioned}
        onRemove={context => {
          setUnmentioned(unmentioned.filter(other => other !== context));
        }}
      />
      <PromptBox
        box={box}
        text={text}
        mentions={mentions}
        aria-label={trans.__('Message to the assistant')}
        aria-autocomplete="list"
        aria-expanded={hasSuggestions}
        aria-controls={hasSuggestions ? id : undefined}
        aria-activedescendant={hasSuggestions ? `${id}-${String(list.activeIndex)}` : undefined}
        placeholder={busy ? trans.__('Steer the assistant…') : trans.__('Ask… @ adds context, / commands')}
        onText={handleText}
        onCursor={setCursor}
        onKeyDown={onKeyDown}
        onPaste={event => {
          const cells = parseCells(event.clipboardData.getData('text/plain'));
          if (cells !== undefined || attach([...event.clipboardData.files])) {
            event.preventDefault();
            attachCells(cells ?? []);
          }
        }}
      />
      {!connected && heldText === text && (
        <p className="eca-Note" role="status">
          {trans.__('It is sent as soon as there is a connection to the assistant.')}
        </p>
      )}
      {connected && !busy && !isCommand(text) && (
        <EstimateLine
          source={props.estimates}
          text={text.trim()}
          contexts={contexts}
          withPlace={chips && sendsPlace}
          place={sendsPlace ? (place?.detail ?? '') : ''}
        />
      )}
      <div className="eca-Composer-bar">
        <Attach
          onChoose={
            attachments &&
            (() => {
              addFileContexts(attachments.choose());
            })
          }
          onFiles={attach}
          accept={attachments === undefined ? IMAGE_TYPES.join(',') : undefined}
        />
        {props.children}
        {busy && (
          <button
            type="button"
            className="eca-Send eca-mod-stop"
            title={trans.__('Stop')}
            aria-label={trans.__('Stop')}
            onClick={onStop}
          >
            <StopIcon />
          </button>
        )}
        {busy && text.trim() !== '' && (
          <IconButton
            icon="queue"
            label={trans.__('Ask after this answer (Alt+Enter)')}
            onClick={() => {
              sendByButton(true);
            }}
          />
        )}
        {(!busy || text.trim() !== '') && (
          <button
            type="button"
            className="eca-Send"
            disabled={text.trim() === '' || sending || !connected}
            title={busy ? trans.__('Steer') : trans.__('Send')}
            aria-label={busy ? trans.__('Steer') : trans.__('Send')}
            onClick={() => {
              sendByButton(false);
            }}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
    </div>
  );
}

/** `take`: choose the active suggestion. `close`: close the list. `next`, `previous`: go to another suggestion. */
type KeyAction = 'send' | 'take' | 'close' | 'next' | 'previous';

/** The facts on which the meaning of a key depends. */
interface KeySituation {
  /** The active suggestion. */
  readonly suggestion: Suggestion | undefined;
  /** Whether the list of suggestions is open. */
  readonly isListOpen: boolean;
  /** Whether the text is the whole name of the suggested command, which needs no arguments. Then Enter runs it. */
  readonly isComplete: boolean;
  /** Whether the user sends with Shift+Enter. */
  readonly sendsWithShift: boolean;
}

/** Return what a key does; undefined when it has its usual meaning in a text area. */
function readKeyAction(
  event: React.KeyboardEvent,
  { suggestion, isListOpen, isComplete, sendsWithShift }: KeySituation
): KeyAction | undefined {
  const hasSuggestion = suggestion !== undefined;
  switch (event.key) {
    case 'Enter':
      return !event.shiftKey && hasSuggestion && !isComplete
        ? 'take'
        : event.shiftKey === sendsWithShift
          ? 'send'
          : undefined;
    case 'Tab':
      return hasSuggestion && !event.shiftKey ? 'take' : undefined;
    case 'Escape':
      return isListOpen ? 'close' : undefined;
    case 'ArrowDown':
      return hasSuggestion ? 'next' : undefined;
    case 'ArrowUp':
      return hasSuggestion ? 'previous' : undefined;
    default:
      return undefined;
  }
}

/** Return the contexts of a message that its text does not mention. */
function dropMentioned({ text, contexts }: UnsentMessage): readonly ChatContext[] {
  const mentioned = pickMentioned(text, contexts);
  return contexts.filter(context => !mentioned.includes(context));
}

/** Return a function that replaces the whole text, and sets the cursor as soon as the text is drawn. */
function useTextReplacement(
  box: React.RefObject<HTMLTextAreaElement>,
  setText: (text: string) => void,
  setCursor: (cursor: number) => void
): (text: string, cursor: number) => void {
  // A list of one number, because React ignores a state that is equal to the one before. A new list is never equal.
  const [nextCursor, setNextCursor] = React.useState<readonly [number]>();
  React.useLayoutEffect(() => {
    if (nextCursor !== undefined) {
      box.current?.setSelectionRange(nextCursor[0], nextCursor[0]);
    }
  }, [box, nextCursor]);
  return React.useCallback(
    (text, cursor) => {
      setText(text);
      setCursor(cursor);
      setNextCursor([cursor]);
    },
    [setText, setCursor]
  );
}

/** Put each new inserted text into the box, and the cursor at its end. `text` is the text that is in the box now. */
function useInsertedText(
  inserted: InsertedText,
  text: string,
  replaceText: (text: string, cursor: number) => void,
  box: React.RefObject<HTMLTextAreaElement>,
  addKnown: (contexts: readonly ChatContext[]) => void
): void {
  // In a React ref the text does not start the effect when the user types.
  const latestText = React.useRef(text);
  latestText.current = text;
  React.useEffect(() => {
    if (inserted.key > 0) {
      const newText =
        inserted.how === 'replace' ? inserted.text : [latestText.current, inserted.text].filter(Boolean).join('\n\n');
      replaceText(newText, newText.length);
      addKnown(pickMentioned(newText, inserted.contexts));
      if (inserted.how === 'replace') {
        box.current?.focus();
      }
    }
  }, [inserted, replaceText, box, addKnown]);
}
