/**
 * Shows a message of the user, or of another person in the chat, with buttons that edit it, send it again or flag it,
 * and buttons that fork the chat or roll it back.
 *
 * This module knows no session: `UserActions` has the functions that the buttons call.
 */

import * as React from 'react';

import { Extent } from '../../chat/rollback';
import { UserBlock } from '../../chat/blocks';
import { Choices } from '../common/Choices';
import { createElement } from '../common/element';
import { useEnv } from '../common/env';
import { FlagForm } from './Flag';
import { IconButton } from '../common/Icon';
import { ChatPeople, describeSender } from '../common/people';
import { Picture } from '../common/Picture';
import { useMayAsk } from '../common/rights';
import { TextWithMentions } from './Mention';

/** The functions that the buttons of a message call. */
export interface UserActions {
  /** Puts the message into the prompt box, where the user changes it. */
  readonly onEdit: (block: UserBlock) => void;
  /** Sends the message again. */
  readonly onRetry: (block: UserBlock) => void;
  /** Copies the chat up to this message's turn into a new chat. */
  readonly onFork: (block: UserBlock) => void;
  /** Rolls the chat back to its state before the message. */
  readonly onRollBack: (block: UserBlock, extent: Extent) => void;
}

interface Props extends UserActions {
  readonly block: UserBlock;
  /** Whether this is the user's last message, which can be edited and sent again. */
  readonly isLast: boolean;
  /** Whether no turn is running. Only then the chat can be rolled back. */
  readonly isIdle: boolean;
}

/** Draws the message. Its buttons are shown while no turn is running, unless the user may only read. */
export function UserMessage({ block, isLast, isIdle, onEdit, onRetry, onFork, onRollBack }: Props): React.ReactElement {
  const { trans, flags } = useEnv();
  /** Whether the user is asked how much to roll back. */
  const [asking, setAsking] = React.useState(false);
  /** Whether the form for a flag is open. */
  const [flagging, setFlagging] = React.useState(false);
  const sender = describeSender(React.useContext(ChatPeople), block.by, trans);
  const mayAsk = useMayAsk();
  const hasTools = isIdle && mayAsk;
  return (
    <div className="eca-User" role="group" aria-label={sender ?? trans.__('You')}>
      {sender !== undefined && (
        <div className="eca-User-name" title={block.by?.username} dir="auto">
          {sender}
        </div>
      )}
      <p dir="auto">
        <TextWithMentions text={block.text} contexts={block.contexts} />
      </p>
      {block.images.map((image, index) => (
        <Picture key={index} image={image} />
      ))}
      {flagging && block.contentId !== undefined && (
        <FlagForm
          contentId={block.contentId}
          onDone={() => {
            setFlagging(false);
          }}
        />
      )}
      {hasTools && !asking && !flagging && (
        <div className="eca-User-tools">
          {isLast && (
            <>
              <IconButton
                icon="edit"
                label={trans.__('Change this message and ask again')}
                onClick={() => {
                  onEdit(block);
                }}
              />
              <IconButton
                icon="retry"
                label={trans.__('Ask this again')}
                onClick={() => {
                  onRetry(block);
                }}
              />
            </>
          )}
          {block.contentId !== undefined && (
            <>
              {flags !== undefined && (
                <IconButton
                  icon="flag"
                  label={trans.__('Flag this message')}
                  onClick={() => {
                    setFlagging(true);
                  }}
                />
              )}
              <IconButton
                icon="fork"
                label={trans.__('Continue from here in a new chat')}
                onClick={() => {
                  onFork(block);
                }}
              />
              <IconButton
                icon="undo"
                label={trans.__('Go back to before this message')}
                onClick={() => {
                  setAsking(true);
                }}
              />
            </>
          )}
        </div>
      )}
      {hasTools && asking && (
        <ExtentChoice
          onChoose={extent => {
            setAsking(false);
            if (extent !== undefined) {
              onRollBack(block, extent);
            }
          }}
        />
      )}
    </div>
  );
}

/** Asks the user how much is rolled back. `onChoose` gets undefined when the user cancels. */
function ExtentChoice({ onChoose }: { readonly onChoose: (extent: Extent | undefined) => void }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <Choices
      label={trans.__('Take back from here on')}
      question={trans.__('Take back from here on:')}
      choices={[
        [trans.__('Messages and changes'), 'all'],
        [trans.__('Messages only'), 'messages']
      ]}
      onChoose={onChoose}
    />
  );
}
