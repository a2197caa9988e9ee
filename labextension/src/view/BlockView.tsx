/** One block of a transcript. */

import * as React from 'react';

import { Block, HookBlock, ReasonBlock, UserBlock } from '../blocks';
import { ImageContent } from '../protocol';
import { duration, plain } from '../text';
import { Decide } from './Approval';
import { Boundary } from './Boundary';
import { useEnv } from './env';
import { Icon, IconButton } from './Icon';
import { LongText } from './LongText';
import { Markdown } from './Markdown';
import { ToolCard } from './ToolCard';

export interface BlockActions extends Decide {
  readonly onEdit: (block: UserBlock) => void;
  readonly onRetry: (block: UserBlock) => void;
}

interface Props extends BlockActions {
  readonly block: Block;
  /** The user's last message may be changed and asked again. */
  readonly last: boolean;
}

export const BlockView = React.memo(function BlockView(props: Props): React.ReactElement {
  const { trans } = useEnv();
  return (
    <Boundary instead={trans.__('A part of this chat could not be shown.')}>
      <Inside {...props} />
    </Boundary>
  );
});

function Inside({ block, last, ...actions }: Props): React.ReactElement | null {
  switch (block.kind) {
    case 'user':
      return <UserMessage block={block} last={last} {...actions} />;
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

type UserProps = Pick<Props, 'last' | 'onEdit' | 'onRetry'> & { readonly block: UserBlock };

function UserMessage({ block, last, onEdit, onRetry }: UserProps): React.ReactElement {
  const { trans } = useEnv();
  return (
    <section className="eca-User" aria-label={trans.__('You')}>
      <p dir="auto">{plain(block.text)}</p>
      {block.images.map((image, index) => (
        <Picture key={index} image={image} />
      ))}
      {last && (
        <div className="eca-User-tools">
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
        </div>
      )}
    </section>
  );
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

/** Only what an `img` draws without running it. */
const DRAWN = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;

function Picture({ image }: { readonly image: ImageContent }): React.ReactElement {
  const { trans } = useEnv();
  return DRAWN.test(image.mediaType) ? (
    <img className="eca-Picture" alt={trans.__('Image')} src={`data:${image.mediaType};base64,${image.base64}`} />
  ) : (
    <p className="eca-Note">{trans.__('An image of the type %1', image.mediaType)}</p>
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
