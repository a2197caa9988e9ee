/**
 * Shows only what a turn waits for: tool calls to approve, questions, and a button that stops the turn. A turn is the
 * work of the assistant on one message of the user.
 *
 * It is used in the card of a cell (`widget/card.tsx`). The panel shows the same within the transcript.
 */

import * as React from 'react';

import { ChatId } from '../wire/protocol';
import { Session } from '../chat/session';
import { State } from '../chat/state';
import { describeForScreenReader } from './announcement';
import { createElement } from './common/element';
import { DecisionActions } from './tools/Approval';
import { ApproveAll, approveShownCalls } from './tools/ApproveAll';
import { listWaitingCalls } from './tools/decision_keys';
import { Boundary } from './common/Boundary';
import { useEnv } from './common/env';
import { Question } from './transcript/Question';
import { ToolCard } from './tools/ToolCard';

interface Props {
  readonly session: Session;
  /** Called just before a decision removes its card, which may have the focus. */
  readonly onDecide: () => void;
}

/** Draws the decisions that wait; nothing when there are none. */
export function PendingDecisions({ session, onDecide }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const getState = (): State => session.state;
  const state = React.useSyncExternalStore(session.subscribe, getState, getState);
  const { chat } = session;
  if (state.connection === 'lost' || state.connection === 'absent') {
    return (
      <p className="eca-Note">
        {trans.__('The kernel does not answer. You cannot approve or reject anything here now.')}
      </p>
    );
  }
  const calls = listWaitingCalls(chat);
  if (calls.length + chat.questions.length === 0) {
    return null;
  }
  return (
    <div className="eca-Panel eca-Deciding" role="group" aria-label={trans.__('The assistant asks')}>
      {/* `describeForScreenReader` reads only the blocks of a chat. So the calls of subagents become such blocks. */}
      <p className="eca-Hidden" role="status" aria-live="polite">
        {describeForScreenReader(state, { ...chat, blocks: calls.map(({ block }) => block) }, trans)}
      </p>
      {calls.map(({ block, chatId }) => (
        <Boundary key={`${String(chatId)} ${block.id}`} fallback={trans.__('A part of this chat could not be shown.')}>
          <ToolCard block={block} {...createActions(session, chatId, onDecide)} />
        </Boundary>
      ))}
      <ApproveAll
        calls={calls}
        onApproveAll={shownCalls => {
          onDecide();
          approveShownCalls(session, shownCalls);
        }}
      />
      {chat.questions.map(question => (
        <Question
          key={question.key}
          question={question}
          onAnswer={(key, answer) => {
            onDecide();
            session.answer(key, answer);
          }}
        />
      ))}
      <div className="eca-Deciding-stop">
        <button
          type="button"
          className="eca-Button"
          title={trans.__('Run none of these calls and end the answer')}
          onClick={() => {
            onDecide();
            session.stop();
          }}
        >
          {trans.__('Stop')}
        </button>
      </div>
    </div>
  );
}

/** Return the functions that approve and reject the calls of a chat, and call `onDecide` before. */
function createActions(session: Session, chatId: ChatId, onDecide: () => void): DecisionActions {
  return {
    chatId,
    onApprove: (id, forSession) => {
      onDecide();
      session.approve(id, forSession, chatId);
    },
    onReject: (id, reason) => {
      onDecide();
      session.reject(id, reason, chatId);
    },
    // Running calls are not shown here.
    onBackground: () => undefined
  };
}
