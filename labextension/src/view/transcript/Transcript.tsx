/**
 * Shows the blocks of a chat. While new text arrives, the view stays at the end, until the reader scrolls away from it.
 *
 * Only a part of the blocks is in the page: the newest at first, and others when the reader scrolls towards them. So a
 * long chat opens quickly, and reading back through it does not fill the page. This module knows no session: `App.tsx`
 * passes what the buttons do. `BlockView.tsx` draws a single block.
 */

import * as React from 'react';

import { Block, Blocks } from '../../chat/blocks';
import { Change } from '../../chat/types';
import { Transcript as TranscriptState } from '../../chat/state';
import { collectAnswer, listAnswerEnds } from './answers';
import { BlockActions, BlockView } from './BlockView';
import { Changes, ReviewActions } from './Changes';
import { CopyAnswer } from './CopyAnswer';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';
import { useMayAsk } from '../common/rights';

type Props = BlockActions & {
  readonly blocks: Blocks;
  /** The ids of the turns that have ended, by the key of each turn's last block. */
  readonly ends: Readonly<Record<string, string>> | undefined;
  /** The changes of all turns, which are listed below the last block of each turn. */
  readonly changes: readonly Change[] | undefined;
  /** Keeps and undoes changes. */
  readonly review: ReviewActions;
  /** The transcripts of subagents, by the ids of their chats. */
  readonly agents: Agents | undefined;
  /** Whether a turn is running. */
  readonly busy: boolean;
  /** What the running turn is doing, in words. */
  readonly progress: string;
  /** The number of messages that the user has sent from here. When it grows, the view scrolls to the end. */
  readonly sent: number;
  /** Fetches the page of the history before all blocks; undefined when there is no such page. */
  readonly onEarlier: (() => void) | undefined;
  /** Shown after the blocks: questions, and messages that wait. */
  readonly children?: React.ReactNode;
};

type Agents = Readonly<Record<string, TranscriptState>>;

/** The number of blocks that are added when the reader scrolls towards them: a few screens. */
const PAGE_SIZE = 40;
/** The most blocks in the page. When more are added at one end, blocks at the other end are removed. */
const MAX_BLOCKS = 240;
/** Within this distance, in pixels, the view counts as being at the end, because sizes are fractions of pixels. */
const NEAR_PX = 24;

/** The blocks in a frame that scrolls. */
export function Transcript(props: Props): React.ReactElement {
  const { blocks, ends, agents, changes = [], review, busy, progress, sent, onEarlier, children, ...actions } = props;
  const { trans } = useEnv();
  const [{ shown, below }, setPart] = React.useState({ shown: PAGE_SIZE, below: 0 });
  const { frame, content, following, jump } = useFollowing(below > 0);
  useKeptPlace(frame, following);
  // The blocks in the page are those from `first` up to, but not including, `last`.
  const last = blocks.length - below;
  const first = Math.max(0, last - shown);
  /** The index of the user's last message; -1 while a turn is running. */
  const lastAsked = busy ? -1 : blocks.findLastIndex(block => block.kind === 'user');
  const answers = React.useMemo(() => listAnswerEnds(blocks, busy), [blocks, busy]);
  const lastMessage = blocks[lastAsked];
  const { onRetry } = actions;
  const mayAsk = useMayAsk();
  const onAskAgain = React.useMemo(
    () =>
      mayAsk && lastMessage?.kind === 'user'
        ? () => {
            onRetry(lastMessage);
          }
        : undefined,
    [mayAsk, lastMessage, onRetry]
  );
  const loadEarlier = React.useCallback(() => {
    setPart(before => moveUpwards(before, blocks.length));
    if (first < PAGE_SIZE) {
      onEarlier?.();
    }
  }, [blocks.length, first, onEarlier]);
  const loadLater = React.useCallback(() => {
    setPart(({ shown, below }) => ({ shown, below: Math.max(0, below - PAGE_SIZE) }));
  }, []);
  // When the reader comes to the end, the older blocks leave the page.
  React.useLayoutEffect(() => {
    if (following) {
      setPart(NEWEST);
    }
  }, [following]);
  // When the user sends a message, the view goes to the end.
  React.useLayoutEffect(() => {
    if (sent > 0) {
      setPart(NEWEST);
      jump();
    }
  }, [sent, jump]);
  return (
    <div className="eca-Transcript-frame">
      <div
        className={following ? 'eca-Transcript eca-mod-following' : 'eca-Transcript'}
        ref={frame}
        role="log"
        aria-live="off"
        aria-label={trans.__('Chat')}
        tabIndex={0}
      >
        <div className="eca-Transcript-content" ref={content}>
          {(first > 0 || onEarlier !== undefined) && <LoadMore frame={frame} side="start" onNear={loadEarlier} />}
          {blocks.slice(first, last).map((block, index) => (
            <div key={block.key} className="eca-Block">
              <BlockView
                block={block}
                agent={findSubagent(block, agents)}
                last={first + index === lastAsked}
                idle={!busy}
                {...(block.kind === 'failure' && first + index > lastAsked && { onAskAgain })}
                {...actions}
              />
              {answers.has(block.key) && <CopyAnswer collect={() => collectAnswer(blocks, block.key)} />}
              <Changes changes={changes.filter(({ turn }) => turn === ends?.[block.key])} busy={busy} {...review} />
            </div>
          ))}
          {below > 0 && <LoadMore frame={frame} side="end" onNear={loadLater} />}
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
            setPart(NEWEST);
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

/** Return the transcript of the subagent that the call of a block started. */
function findSubagent(block: Block, agents?: Agents): TranscriptState | undefined {
  const details = block.kind === 'tool' ? block.details : undefined;
  return details?.type === 'subagent' ? agents?.[details.subagentChatId ?? ''] : undefined;
}

/** The part of the blocks that is in the page. */
interface Part {
  /** How many blocks are in the page. */
  readonly shown: number;
  /** How many blocks come after them. */
  readonly below: number;
}

/** The part with the newest blocks. */
const NEWEST: Part = { shown: PAGE_SIZE, below: 0 };

/**
 * Return the part with `PAGE_SIZE` older blocks added. If there are more than `MAX_BLOCKS` then, the newest ones are
 * removed from the page. `all` is the number of blocks of the chat.
 */
function moveUpwards({ shown, below }: Part, all: number): Part {
  // At most one page more than there are blocks: that page may be on its way from the server.
  const wanted = Math.min(shown + PAGE_SIZE, all + PAGE_SIZE - below);
  return { shown: Math.min(MAX_BLOCKS, wanted), below: below + Math.max(0, wanted - MAX_BLOCKS) };
}

/**
 * Keep the view at the end of the chat while it is there, although the chat grows. The reader leaves the end by
 * scrolling up. `cut`: later blocks are not in the page, so the end of the page is not the end of the chat.
 *
 * Return the refs for the frame, which scrolls, and for its content. `following`: the view is at the end. `jump`
 * scrolls to the end.
 */
function useFollowing(cut: boolean): {
  frame: React.RefObject<HTMLDivElement>;
  content: React.RefObject<HTMLDivElement>;
  following: boolean;
  jump: () => void;
} {
  const frame = React.useRef<HTMLDivElement>(null);
  const content = React.useRef<HTMLDivElement>(null);
  // The same as the state `following`. The listeners below read it at once, before React draws the view again.
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
      // Only a reader scrolls up. When content shrinks, the position becomes smaller, too, but then the view is at the
      // end. The browser itself would scroll up when it keeps the place of a block while others are removed above it.
      // The style `eca-mod-following` forbids that.
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
  // After each drawing. The observer above does not notice that blocks were removed at the top and others of the same
  // height were added at the end, or that the content was lower for a moment.
  React.useLayoutEffect(() => {
    const box = frame.current;
    if (follows.current && box !== null && box.scrollHeight - box.scrollTop - box.clientHeight >= 1) {
      box.scrollTop = box.scrollHeight;
    }
  });
  return { frame, content, following, jump };
}

/**
 * Keep the block that is being read at its place when other blocks are added or removed before it. Browsers do this
 * too, but not always: while the wheel is being turned, and at the top of the frame, they do not change the position.
 */
function useKeptPlace(frame: React.RefObject<HTMLDivElement>, following: boolean): void {
  /** The first visible block, and where its top is in the window. */
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
  // After each drawing: if that has moved the block, scroll by the same distance.
  React.useLayoutEffect(() => {
    if (!following && frame.current !== null && place.current?.block.isConnected === true) {
      const moved = place.current.block.getBoundingClientRect().top - place.current.top;
      if (Math.abs(moved) >= 1) {
        frame.current.scrollTop += moved;
      }
    }
  });
}

/** Return the first block of which at least a part is visible in the frame. */
function findFirstVisible(box: Element): Element | undefined {
  const { top } = box.getBoundingClientRect();
  return [...box.querySelectorAll(':scope > * > .eca-Block')].find(
    block => block.getBoundingClientRect().bottom > top + 1
  );
}

/**
 * A button in place of blocks that are not in the page. `onNear` is called when the reader scrolls near the button or
 * presses it.
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
        // The frame is at its top until it has scrolled to its end for the first time. That must not load earlier
        // blocks. So the reader must be near the top (400 pixels), but not at the end of the frame.
        const isNearTop =
          box !== null && box.scrollTop < 400 && box.scrollTop + box.clientHeight < box.scrollHeight - 1;
        if (entries.some(entry => entry.isIntersecting) && (side === 'end' || isNearTop)) {
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
