/** One block of a transcript. */

import * as React from 'react';

import { Block, HookBlock, ReasonBlock } from '../blocks';
import { duration, plain } from '../text';
import { Decide } from './Approval';
import { Boundary } from './Boundary';
import { useEnv } from './env';
import { Icon } from './Icon';
import { LongText } from './LongText';
import { Markdown } from './Markdown';
import { Picture } from './Picture';
import { ToolCard } from './ToolCard';
import { UserActions, UserMessage } from './UserMessage';

export type BlockActions = Decide & UserActions;

type Props = BlockActions & {
  readonly block: Block;
  /** The user's last message may be changed and asked again. */
  readonly last: boolean;
  /** Nothing is under way. */
  readonly idle: boolean;
};

export const BlockView = React.memo(function BlockView(props: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <Boundary instead={trans.__('A part of this chat could not be shown.')}>
      <Inside {...props} />
    </Boundary>
  );
});

function Inside({ block, last, idle, ...actions }: Props): React.ReactElement | null {
  switch (block.kind) {
    case 'user':
      return <UserMessage block={block} last={last} idle={idle} {...actions} />;
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
    case 'reason':
      return <Reasoning block={block} />;
    case 'tool':
      return <ToolCard block={block} {...actions} />;
    case 'image':
      return <Picture image={block.image} />;
    case 'url':
      return <Source title={block.title} url={block.url} />;
    case 'hook':
      return <Hook block={block} />;
    case 'flag':
      return (
        <p className="eca-Flag" dir="auto">
          {plain(block.text)}
        </p>
      );
  }
}

function Reasoning({ block }: { readonly block: ReasonBlock }): React.ReactElement | null {
  const { trans } = useEnv();
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
          trans.__('Thought for %1', duration(block.ms))
        ) : (
          trans.__('Thought')
        )}
      </summary>
      <LongText text={block.text} />
    </details>
  );
}

function Source({ title, url }: { readonly title: string; readonly url: string }): React.ReactElement {
  const safe = /^https?:\/\//i.test(url);
  return (
    <p className="eca-Source">
      <Icon name="link" />
      {safe ? (
        <a href={url} title={url} target="_blank" rel="noopener noreferrer" dir="auto">
          {plain(title || url)}
        </a>
      ) : (
        <span dir="auto">{plain(title || url)}</span>
      )}
    </p>
  );
}

function Hook({ block }: { readonly block: HookBlock }): React.ReactElement {
  const { trans } = useEnv();
  return (
    <details className="eca-Reason">
      <summary>
        <span className="eca-Fold">
          <Icon name="fold" />
        </span>
        {block.status === undefined
          ? trans.__('Hook %1 is running', plain(block.name))
          : trans.__('Hook %1 ended with %2', plain(block.name), block.status)}
      </summary>
      {block.output !== '' && <LongText text={block.output} />}
    </details>
  );
}
