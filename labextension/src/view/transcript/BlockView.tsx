/**
 * Draws one block of a transcript: a message, an answer, a message of the server, a failure, reasoning, a tool call, an
 * image, a link, a hook or a flag. A flag is a named mark that the user sets in a chat.
 *
 * It only chooses the view for the kind of the block. The list of blocks is `Transcript.tsx`.
 */

import * as React from 'react';

import { Block, HookBlock, ReasonBlock } from '../../chat/blocks';
import { ChatId } from '../../wire/protocol';
import { Transcript } from '../../chat/state';
import { formatDuration, toPlainText } from '../../render/format';
import { createElement } from '../common/element';
import { DecisionActions } from '../tools/Approval';
import { Boundary } from '../common/Boundary';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';
import { LongText } from '../common/LongText';
import { Failure, FailureActions } from './Failure';
import { Flag } from './Flag';
import { Markdown } from '../common/Markdown';
import { Picture } from '../common/Picture';
import { ToolCard } from '../tools/ToolCard';
import { UserActions, UserMessage } from './UserMessage';

/** The functions that the buttons of all blocks call, and the id of the chat, which they need. */
export type BlockActions = DecisionActions & UserActions & Pick<FailureActions, 'onChooseModel' | 'onChooseAgent'>;

type Props = BlockActions & {
  readonly block: Block;
  /** The transcript of the subagent that the block's call started. */
  readonly subagent?: Transcript | undefined;
  /** Whether the block is the user's last message, which can be edited and sent again. */
  readonly isLast: boolean;
  /** Whether no turn is running. */
  readonly isIdle: boolean;
  /** Sends the last message again, if its turn ended with this block; undefined while that is not possible. */
  readonly onAskAgain?: (() => void) | undefined;
};

/** The most characters that are read of a hook's output to show its first line. */
const MAX_FIRST_LINE_LENGTH = 200;

/** Draws a block. If that fails, a note takes its place. */
export const BlockView = React.memo(function BlockView(props: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <Boundary fallback={trans.__('A part of this chat could not be shown.')}>
      <BlockBody {...props} />
    </Boundary>
  );
});

/** Draws the view for the kind of the block. */
function BlockBody({ block, subagent, isLast, isIdle, onAskAgain, ...actions }: Props): React.ReactElement | null {
  switch (block.kind) {
    case 'user':
      return <UserMessage block={block} isLast={isLast} isIdle={isIdle} {...actions} />;
    case 'text':
      return (
        <div className="eca-Answer">
          <Markdown text={block.text} />
        </div>
      );
    case 'system':
      return (
        <div className="eca-System">
          <Markdown text={block.text} />
        </div>
      );
    case 'failure':
      return (
        <Failure
          block={block}
          onAskAgain={onAskAgain}
          onChooseModel={actions.onChooseModel}
          onChooseAgent={actions.onChooseAgent}
        />
      );
    case 'reason':
      return <Reasoning block={block} />;
    case 'tool':
      return (
        <ToolCard block={block} hasWaitingCall={subagent?.blocks.some(isWaiting) ?? false} {...actions}>
          {subagent !== undefined && block.details?.type === 'subagent' && (
            <Subagent chatId={block.details.subagentChatId ?? ''} transcript={subagent} actions={actions} />
          )}
        </ToolCard>
      );
    case 'image':
      return <Picture image={block.image} />;
    case 'url':
      return <Source title={block.title} url={block.url} />;
    case 'hook':
      return <Hook block={block} />;
    case 'flag':
      return <Flag text={block.text} contentId={block.contentId} />;
  }
}

/** Whether a block is a tool call that waits for a decision. */
function isWaiting(block: Block): boolean {
  return block.kind === 'tool' && block.status === 'waiting';
}

interface SubagentProps {
  /** The id of the subagent's chat. */
  readonly chatId: ChatId;
  /** The transcript of the subagent. */
  readonly transcript: Transcript;
  /** The functions that the buttons of its blocks call. */
  readonly actions: BlockActions;
}

/**
 * Draws the transcript of a subagent, under the call that started it. A subagent is an assistant that works on one task
 * in a chat of its own. The card of the call shows the task, so the transcript does not repeat it.
 */
function Subagent({ chatId, transcript, actions }: SubagentProps): React.ReactElement {
  const { trans } = useEnv();
  return (
    <div className="eca-Subagent" role="group" aria-label={trans.__('What the subagent did')}>
      {transcript.blocks
        .filter(({ kind }) => kind !== 'user')
        .map(block => (
          <BlockView key={block.key} block={block} isLast={false} isIdle={false} {...actions} chatId={chatId} />
        ))}
      {transcript.status !== 'idle' && (
        <p className="eca-Progress">
          <span className="eca-Spinner" />
          <span className="eca-Shimmer">{transcript.progress || trans.__('Working…')}</span>
        </p>
      )}
    </div>
  );
}

/**
 * Draws the reasoning of the model, folded at first. The line above it says how long the reasoning took: `ms` is
 * undefined while the model reasons, and 0 if the time is not known.
 */
function Reasoning({ block }: { readonly block: ReasonBlock }): React.ReactElement | null {
  const { trans } = useEnv();
  // Some models do not show their reasoning. When it has ended without a text, there is nothing to unfold.
  if (block.text === '' && block.ms !== undefined) {
    return null;
  }
  return (
    <details className="eca-Reason">
      <summary>
        <span className="eca-Fold">
          <Icon name="fold" />
        </span>
        {block.ms === undefined ? (
          <span className="eca-Shimmer">{trans.__('Thinking…')}</span>
        ) : block.ms > 0 ? (
          trans.__('Thought for %1', formatDuration(block.ms))
        ) : (
          trans.__('Thought')
        )}
      </summary>
      <LongText text={block.text} />
    </details>
  );
}

/** Draws a link to a page that the answer refers to. Only a web address becomes a link. */
function Source({ title, url }: { readonly title: string; readonly url: string }): React.ReactElement {
  const safe = /^https?:\/\//i.test(url);
  return (
    <p className="eca-Source">
      <Icon name="link" />
      {safe ? (
        <a href={url} title={url} target="_blank" rel="noopener noreferrer" dir="auto">
          {toPlainText(title || url)}
        </a>
      ) : (
        <span dir="auto">{toPlainText(title || url)}</span>
      )}
    </p>
  );
}

/**
 * Draws a run of a hook with its output. A hook is a command that the user has set in the configuration. Its exit
 * status (`status`) is undefined while the hook runs. If it is not 0, the hook has failed or has forbidden something,
 * and the first line of the output says why. So that line is not folded away.
 */
function Hook({ block }: { readonly block: HookBlock }): React.ReactElement {
  const { trans } = useEnv();
  const name = toPlainText(block.name);
  const [firstLine = ''] = toPlainText(block.output.slice(0, MAX_FIRST_LINE_LENGTH)).trim().split('\n');
  return (
    <details className="eca-Reason">
      <summary>
        <span className="eca-Fold">
          <Icon name="fold" />
        </span>
        {block.status === undefined
          ? trans.__('Hook %1 is running', name)
          : block.status === 0
            ? trans.__('Hook %1 has run', name)
            : firstLine === ''
              ? trans.__('Hook %1 ended with %2', name, block.status)
              : trans.__('Hook %1 ended with %2: %3', name, block.status, firstLine)}
      </summary>
      {block.output !== '' && <LongText text={block.output} />}
    </details>
  );
}
