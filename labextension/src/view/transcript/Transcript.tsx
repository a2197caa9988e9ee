/**
 * The blocks of a chat. Scrolls along with new text until the reader scrolls away from the end.
 *
 * Only a part of the blocks is in the page: the newest at first, others when the reader scrolls towards them. So a chat of
 * any length opens quickly, and reading back through it does not fill the page. Knows no session: `App.tsx` passes what
 * the buttons do. A single block is drawn by `BlockView.tsx`.
 */

import * as React from 'react';

import { Block, Blocks } from '../../chat/blocks';
import { Change } from '../../chat/types';
import { Transcript as Told } from '../../chat/state';
import { BlockActions, BlockView } from './BlockView';
import { Changes, ReviewActions } from './Changes';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';

type Props = BlockActions & {
  readonly blocks: Blocks;
  /** The turns that ended, by the keys of their last blocks. */
  readonly ends: Readonly<Record<string, string>> | undefined;
  readonly changes: readonly Change[] | undefined;
  readonly review: ReviewActions;
  /** The transcripts of subagents, by the ids of their chats. */
  readonly agents: Agents | undefined;
  readonly busy: boolean;
  readonly progress: string;
  /** How many messages the user has sent from here. The transcript goes to its end when it grows. */
  readonly sent: number;
  /** Fetches the page before all blocks; undefined when there is none. */
  readonly onEarlier: (() => void) | undefined;
  /** Shown after the blocks: questions, and messages that wait. */
  readonly children?: React.ReactNode;
};

type Agents = Readonly<Record<string, Told>>;

const PAGE = 40;
/** The most blocks in the page: when more come, those at the other end are removed. */
const MOST = 240;
/** A distance to the end below this counts as being at the end: sizes are fractions of pixels. */
const NEAR_PX = 24;

export function Transcript(props: Props): React.ReactElement {
  const { blocks, ends, agents, changes = [], review, busy, progress, sent, onEarlier, children, ...actions } = props;
  const { trans } = useEnv();
  const [{ shown, below }, move] = React.useState({ shown: PAGE, below: 0 });
  const { frame, content, following, jump } = useFollowing(below > 0);
  useKeptPlace(frame, following);
  const last = blocks.length - below;
  const first = Math.max(0, last - shown);
  const lastAsked = busy ? -1 : blocks.findLastIndex(block => block.kind === 'user');
  const more = React.useCallback(() => {
    move(before => moveUpwards(before, blocks.length));
    if (first < PAGE) {
      onEarlier?.();
    }
  }, [blocks.length, first, onEarlier]);
  const back = React.useCallback(() => {
    move(({ shown, below }) => ({ shown, below: Math.max(0, below - PAGE) }));
  }, []);
  React.useLayoutEffect(() => {
    if (following) {
      move(START);
    }
  }, [following]);
  React.useLayoutEffect(() => {
    if (sent > 0) {
      move(START);
      jump();
    }
  }, [sent, jump]);
  return (
    <div className="eca-Transcript-frame">
      <div className="eca-Transcript" ref={frame} role="log" aria-live="off" aria-label={trans.__('Chat')} tabIndex={0}>
        <div className="eca-Transcript-content" ref={content}>
          {(first > 0 || onEarlier !== undefined) && <LoadMore frame={frame} side="start" onNear={more} />}
          {blocks.slice(first, last).map((block, index) => (
            <div key={block.key} className="eca-Block">
              <BlockView
                block={block}
                agent={agentOf(block, agents)}
                last={first + index === lastAsked}
                idle={!busy}
                {...actions}
              />
              <Changes changes={changes.filter(({ turn }) => turn === ends?.[block.key])} busy={busy} {...review} />
            </div>
          ))}
          {below > 0 && <LoadMore frame={frame} side="end" onNear={back} />}
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
        <button
          type="button"
          className="eca-Jump"
          onClick={() => {
            move(START);
            jump();
          }}
        >
          <Icon name="down" />
          {trans.__('Jump to the end')}
        </button>
      )}
    </div>
  );
}

function agentOf(block: Block, agents?: Agents): Told | undefined {
  const details = block.kind === 'tool' ? block.details : undefined;
  return details?.type === 'subagent' ? agents?.[details.subagentChatId ?? ''] : undefined;
}

interface Part {
  /** How many blocks are in the page. */
  readonly shown: number;
  readonly below: number;
}

const START: Part = { shown: PAGE, below: 0 };

function moveUpwards({ shown, below }: Part, all: number): Part {
  const wanted = Math.min(shown + PAGE, all + PAGE - below);
  return { shown: Math.min(MOST, wanted), below: below + Math.max(0, wanted - MOST) };
}

/** `cut`: later blocks are not in the page, so the end of the page is not the end of the chat. */
function useFollowing(cut: boolean): {
  frame: React.RefObject<HTMLDivElement>;
  content: React.RefObject<HTMLDivElement>;
  following: boolean;
  jump: () => void;
} {
  const frame = React.useRef<HTMLDivElement>(null);
  const content = React.useRef<HTMLDivElement>(null);
  const follows = React.useRef(true);
  const isCut = React.useRef(cut);
  isCut.current = cut;
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
      const atEnd = !isCut.current && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      // Only a reader scrolls up. Content that shrinks moves the top as well, but then the page is at its end.
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

/**
 * Keep the block that is being read where it is when others are added or removed before it. Browsers do this too, but not
 * always: in the midst of a turn of the wheel, and at the top of the frame, they leave the position as it is.
 */
function useKeptPlace(frame: React.RefObject<HTMLDivElement>, following: boolean): void {
  const place = React.useRef<{ readonly block: Element; readonly top: number }>();
  React.useEffect(() => {
    const box = frame.current;
    const onScroll = (): void => {
      const block = box === null ? undefined : findFirstVisible(box);
      place.current = block && { block, top: block.getBoundingClientRect().top };
    };
    box?.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      box?.removeEventListener('scroll', onScroll);
    };
  }, [frame]);
  React.useLayoutEffect(() => {
    if (!following && frame.current !== null && place.current?.block.isConnected === true) {
      const moved = place.current.block.getBoundingClientRect().top - place.current.top;
      if (Math.abs(moved) >= 1) {
        frame.current.scrollTop += moved;
      }
    }
  });
}

function findFirstVisible(box: Element): Element | undefined {
  const { top } = box.getBoundingClientRect();
  return [...box.querySelectorAll(':scope > * > .eca-Block')].find(
    block => block.getBoundingClientRect().bottom > top + 1
  );
}

/**
 * A button in place of blocks that are not in the page. They are added when the reader scrolls near it or presses it.
 */
function LoadMore({
  frame,
  side,
  onNear
}: {
  readonly frame: React.RefObject<HTMLDivElement>;
  readonly side: 'start' | 'end';
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
        const box = frame.current;
        // Before it has scrolled to its end for the first time, the frame is at its top.
        const scrolled = box !== null && box.scrollTop < 400 && box.scrollTop + box.clientHeight < box.scrollHeight - 1;
        if (entries.some(entry => entry.isIntersecting) && (side === 'end' || scrolled)) {
          onNear();
        }
      },
      { root: frame.current, rootMargin: '200px 0px' }
    );
    observer.observe(mark.current);
    return () => {
      observer.disconnect();
    };
  }, [frame, side, onNear]);
  return (
    <button type="button" className="eca-Link eca-Earlier" ref={mark} onClick={onNear}>
      {side === 'start' ? trans.__('Show earlier messages') : trans.__('Show later messages')}
    </button>
  );
}
