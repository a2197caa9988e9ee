/**
 * The messages of a chat. Follows what is written until the reader scrolls away from the end.
 *
 * Only the newest blocks are in the page, older ones when the reader comes near: a chat of any length opens at once.
 */

import * as React from 'react';

import { Blocks } from '../blocks';
import { Change } from '../changes';
import { BlockActions, BlockView } from './BlockView';
import { Changes, ReviewActions } from './Changes';
import { useEnv } from './env';
import { Icon } from './Icon';

type Props = BlockActions & {
  readonly blocks: Blocks;
  /** The turns that ended, by the keys of their last blocks, and what stands of what they changed. */
  readonly ends: Readonly<Record<string, string>> | undefined;
  readonly changes: readonly Change[] | undefined;
  readonly review: ReviewActions;
  readonly busy: boolean;
  readonly progress: string;
  /** What comes after the blocks: questions, words that wait. */
  readonly children?: React.ReactNode;
};

const PAGE = 40;
/** Nearer to the end than this counts as at the end: sizes are fractions of pixels. */
const NEAR_PX = 24;

export function Transcript(props: Props): React.ReactElement {
  const { blocks, ends, changes = [], review, busy, progress, children, ...actions } = props;
  const { trans } = useEnv();
  const [shown, setShown] = React.useState(PAGE);
  const { frame, content, following, jump } = useFollowing();
  const first = Math.max(0, blocks.length - shown);
  const lastAsked = busy ? -1 : blocks.findLastIndex(block => block.kind === 'user');
  const more = React.useCallback(() => {
    setShown(before => before + PAGE);
  }, []);
  return (
    <div className="eca-Transcript-frame">
      <div className="eca-Transcript" ref={frame} role="log" aria-live="off" aria-label={trans.__('Chat')} tabIndex={0}>
        <div className="eca-Transcript-content" ref={content}>
          {first > 0 && <Earlier frame={frame} onNear={more} />}
          {blocks.slice(first).map((block, index) => (
            <div key={block.key} className="eca-Block">
              <BlockView block={block} last={first + index === lastAsked} idle={!busy} {...actions} />
              <Changes changes={changes.filter(({ turn }) => turn === ends?.[block.key])} busy={busy} {...review} />
            </div>
          ))}
          {children}
          {busy && (
            <p className="eca-Progress">
              <span className="eca-Spinner" />
              <span className="eca-Shimmer">{progress || trans.__('Working…')}</span>
            </p>
          )}
        </div>
      </div>
      {!following && (
        <button type="button" className="eca-Jump" onClick={jump}>
          <Icon name="down" />
          {trans.__('Jump to the end')}
        </button>
      )}
    </div>
  );
}

function useFollowing(): {
  frame: React.RefObject<HTMLDivElement>;
  content: React.RefObject<HTMLDivElement>;
  following: boolean;
  jump: () => void;
} {
  const frame = React.useRef<HTMLDivElement>(null);
  const content = React.useRef<HTMLDivElement>(null);
  const follows = React.useRef(true);
  const [following, setFollowing] = React.useState(true);
  const jump = React.useCallback(() => {
    follows.current = true;
    setFollowing(true);
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }, []);
  React.useLayoutEffect(() => {
    const [box, inside] = [frame.current, content.current];
    if (box === null || inside === null) {
      return;
    }
    let last = box.scrollTop;
    const onScroll = (): void => {
      const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      // Only a reader scrolls up; what shrinks also moves the top, but ends at the end.
      if (atEnd || box.scrollTop < last) {
        follows.current = atEnd;
        setFollowing(atEnd);
      }
      last = box.scrollTop;
    };
    const observer = new ResizeObserver(() => {
      if (follows.current) {
        box.scrollTop = box.scrollHeight;
      }
    });
    observer.observe(inside);
    observer.observe(box);
    box.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', onScroll);
    };
  }, []);
  return { frame, content, following, jump };
}

/** Stands for what is not in the page yet, and is asked for when the reader comes near, or by the keyboard. */
function Earlier({
  frame,
  onNear
}: {
  readonly frame: React.RefObject<HTMLDivElement>;
  readonly onNear: () => void;
}): React.ReactElement {
  const { trans } = useEnv();
  const mark = React.useRef<HTMLButtonElement>(null);
  React.useEffect(() => {
    if (mark.current === null) {
      return;
    }
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting) && (frame.current?.scrollTop ?? 0) < 400) {
          onNear();
        }
      },
      { root: frame.current, rootMargin: '200px 0px 0px 0px' }
    );
    observer.observe(mark.current);
    return () => {
      observer.disconnect();
    };
  }, [frame, onNear]);
  return (
    <button type="button" className="eca-Link eca-Earlier" ref={mark} onClick={onNear}>
      {trans.__('Show earlier messages')}
    </button>
  );
}
