/**
 * Shows the blocks of a chat. While new text arrives, the view stays at the end, until the reader scrolls away from it.
 *
 * A block is one message, one answer or one tool call. Only a part of the blocks is in the page: the newest at first,
 * and others when the reader scrolls towards them. So a long chat opens quickly, and the page does not grow without
 * limit. This module knows no session: `App.tsx` passes the functions that the buttons call. `BlockView.tsx` draws one
 * block.
 */

import * as React from 'react';

import { Block, Blocks } from '../../chat/blocks';
import { Change } from '../../chat/types';
import { Transcript as TranscriptState } from '../../chat/state';
import type { FoundMessage } from '../../chats/found_message';
import { createElement } from '../common/element';
import { collectAnswer, findMessage, listAnswerEnds } from './answers';
import { BlockActions, BlockView } from './BlockView';
import { Changes, ReviewActions } from './Changes';
import { CopyAnswer } from './CopyAnswer';
import { highlightWords } from './highlight_words';
import { RateAnswer } from './RateAnswer';
import { useEnv } from '../common/env';
import { Icon } from '../common/Icon';
import { useMayAsk } from '../common/rights';

type Props = BlockActions & {
  readonly blocks: Blocks;
  /** The ids of the turns that have ended, by the key of the last block of each turn. */
  readonly endedTurns: Readonly<Record<string, string>> | undefined;
  /** The changes of all turns, which are listed below the last block of each turn. */
  readonly changes: readonly Change[] | undefined;
  /** The ratings of the answers, by the ids of the messages before the answers. */
  readonly ratings: TranscriptState['ratings'];
  /** Keeps and undoes changes. */
  readonly review: ReviewActions;
  /** The transcripts of subagents, by the ids of their chats. */
  readonly subagents: Subagents | undefined;
  /** Whether a turn is running. */
  readonly busy: boolean;
  /** What the running turn is doing, in words. */
  readonly progress: string;
  /** The number of messages that the user has sent from here. When it grows, the view scrolls to the end. */
  readonly sentCount: number;
  /** The message with which a search has found the chat: the view goes to it, and highlights it. */
  readonly found?: FoundMessage | undefined;
  /** Fetches the page of the history before all blocks; undefined when there is no such page. */
  readonly onEarlier: (() => void) | undefined;
  /** Shown after the blocks: questions, and messages that wait. */
  readonly children?: React.ReactNode;
};

/** The transcripts of subagents, by the ids of their chats. */
type Subagents = Readonly<Record<string, TranscriptState>>;

/** The number of blocks that are added when the reader scrolls towards them: a few screens. */
const PAGE_SIZE = 40;
/**
 * The most blocks in the page. When more are added at one end, blocks at the other end are removed: with thousands of
 * them the page becomes slow.
 */
const MAX_BLOCKS = 240;
/** Within this distance from the end, in pixels, the view counts as being at the end: sizes are fractions of pixels. */
const NEAR_PX = 24;

/** Draws the blocks in a frame that scrolls. */
export function Transcript(props: Props): React.ReactElement {
  const {
    blocks,
    endedTurns,
    subagents,
    changes = [],
    ratings,
    review,
    busy,
    progress,
    sentCount,
    found,
    onEarlier,
    children,
    ...actions
  } = props;
  const { trans } = useEnv();
  const [{ count, newerCount }, setPart] = React.useState(NEWEST);
  const { frame, content, isAtEnd, jumpToEnd, leaveEnd } = useStickToEnd(newerCount > 0);
  useScrollAnchoring(frame, isAtEnd);
  // The blocks in the page are those from `first` up to, but not including, `last`.
  const last = blocks.length - newerCount;
  const first = Math.max(0, last - count);
  /** The index of the user's last message; -1 while a turn is running. */
  const lastMessageIndex = busy ? -1 : blocks.findLastIndex(block => block.kind === 'user');
  const answerEnds = React.useMemo(() => listAnswerEnds(blocks, busy), [blocks, busy]);
  const lastMessage = blocks[lastMessageIndex];
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
    setPart(({ count, newerCount }) => ({ count, newerCount: Math.max(0, newerCount - PAGE_SIZE) }));
  }, []);
  // When the reader comes to the end, the older blocks leave the page.
  React.useLayoutEffect(() => {
    if (isAtEnd) {
      setPart(NEWEST);
    }
  }, [isAtEnd]);
  // When the user sends a message, the view goes to the end.
  React.useLayoutEffect(() => {
    if (sentCount > 0) {
      setPart(NEWEST);
      jumpToEnd();
    }
  }, [sentCount, jumpToEnd]);
  // When a search has found a message, the blocks around it come into the page, and the view goes to it. This is done
  // once for each search: after that, new blocks may come.
  const foundKey = found?.key;
  React.useLayoutEffect(() => {
    const index = blocks.findIndex(({ key }) => key === foundKey);
    if (index >= 0) {
      leaveEnd();
      setPart(showAround(index, blocks.length));
    }
  }, [found, leaveEnd]);
  const isFoundInPage = foundKey !== undefined && blocks.slice(first, last).some(({ key }) => key === foundKey);
  useFoundMessage(frame, isFoundInPage ? found : undefined);
  return (
    <div className="eca-Transcript-frame">
      <div
        className={isAtEnd ? 'eca-Transcript eca-mod-following' : 'eca-Transcript'}
        ref={frame}
        role="log"
        aria-live="off"
        aria-label={trans.__('Chat')}
        tabIndex={0}
      >
        <div className="eca-Transcript-content" ref={content}>
          {(first > 0 || onEarlier !== undefined) && <LoadMore frame={frame} side="start" onNear={loadEarlier} />}
          {blocks.slice(first, last).map((block, index) => (
            <div key={block.key} className={block.key === foundKey ? 'eca-Block eca-mod-found' : 'eca-Block'}>
              <BlockView
                block={block}
                subagent={findSubagent(block, subagents)}
                isLast={first + index === lastMessageIndex}
                isIdle={!busy}
                {...(block.kind === 'failure' && first + index > lastMessageIndex && { onAskAgain })}
                {...actions}
              />
              {answerEnds.has(block.key) && (
                <div className="eca-Answer-tools">
                  <CopyAnswer collect={() => collectAnswer(blocks, block.key)} />
                  {block.kind === 'text' && <Rating blocks={blocks} block={block} ratings={ratings} />}
                </div>
              )}
              <Changes
                changes={changes.filter(({ turn }) => turn === endedTurns?.[block.key])}
                busy={busy}
                {...review}
              />
            </div>
          ))}
          {newerCount > 0 && <LoadMore frame={frame} side="end" onNear={loadLater} />}
          {children}
          {busy && (
            <p className="eca-Progress">
              <span className="eca-Spinner" />
              <span className="eca-Shimmer">{progress || trans.__('Working…')}</span>
            </p>
          )}
        </div>
      </div>
      {!isAtEnd && (
        <button
          type="button"
          className="eca-Jump"
          onClick={() => {
            setPart(NEWEST);
            jumpToEnd();
          }}
        >
          <Icon name="down" />
          {trans.__('Jump to the end')}
        </button>
      )}
    </div>
  );
}

/** Draws the buttons that rate the answer that ends with `block`. */
function Rating({
  blocks,
  block,
  ratings = {}
}: {
  readonly blocks: Blocks;
  readonly block: Block;
  readonly ratings: TranscriptState['ratings'];
}): React.ReactElement {
  const contentId = findMessage(blocks, block.key)?.contentId;
  return <RateAnswer contentId={contentId} rating={contentId === undefined ? undefined : ratings[contentId]} />;
}

/** Return the transcript of the subagent that the call of a block started; undefined when it started none. */
function findSubagent(block: Block, subagents?: Subagents): TranscriptState | undefined {
  const details = block.kind === 'tool' ? block.details : undefined;
  return details?.type === 'subagent' ? subagents?.[details.subagentChatId ?? ''] : undefined;
}

/** Says which part of the blocks is in the page. */
interface VisiblePart {
  /** How many blocks are in the page. */
  readonly count: number;
  /** How many blocks come after them. */
  readonly newerCount: number;
}

/** The part with the newest blocks. */
const NEWEST: VisiblePart = { count: PAGE_SIZE, newerCount: 0 };

/**
 * Return the part with `PAGE_SIZE` older blocks added. If there are more than `MAX_BLOCKS` then, the newest ones are
 * removed from the page. `blockCount` is the number of blocks of the chat.
 */
function moveUpwards({ count, newerCount }: VisiblePart, blockCount: number): VisiblePart {
  // At most one page more than there are blocks: that page may be on its way from the server.
  const wanted = Math.min(count + PAGE_SIZE, blockCount + PAGE_SIZE - newerCount);
  return { count: Math.min(MAX_BLOCKS, wanted), newerCount: newerCount + Math.max(0, wanted - MAX_BLOCKS) };
}

/** Return the part with the block at `index` in its middle. `blockCount` is the number of blocks of the chat. */
function showAround(index: number, blockCount: number): VisiblePart {
  const newerCount = Math.max(0, blockCount - index - PAGE_SIZE / 2);
  return { count: Math.max(PAGE_SIZE, blockCount - newerCount - index + PAGE_SIZE / 2), newerCount };
}

/**
 * Keep the view at the end of the chat while it is there, although the chat grows. The reader leaves the end by
 * scrolling up. `isCut`: later blocks are not in the page, so the end of the page is not the end of the chat.
 *
 * Return the refs for the frame, which scrolls, and for its content. `isAtEnd`: the view is at the end. `jumpToEnd`
 * scrolls to the end. `leaveEnd` lets the view stay where it is when the chat grows.
 */
function useStickToEnd(isCut: boolean): {
  frame: React.RefObject<HTMLDivElement>;
  content: React.RefObject<HTMLDivElement>;
  isAtEnd: boolean;
  jumpToEnd: () => void;
  leaveEnd: () => void;
} {
  const frame = React.useRef<HTMLDivElement>(null);
  const content = React.useRef<HTMLDivElement>(null);
  // The same as the state `isAtEnd`. The listeners below read it at once, before React draws the view again.
  const follows = React.useRef(true);
  const latestIsCut = React.useRef(isCut);
  latestIsCut.current = isCut;
  const [isAtEnd, setAtEnd] = React.useState(true);
  const jumpToEnd = React.useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  }, []);
  const leaveEnd = React.useCallback(() => {
    follows.current = false;
    setAtEnd(false);
  }, []);
  React.useLayoutEffect(() => {
    const [box, inside] = [frame.current, content.current];
    if (box === null || inside === null) {
      return;
    }
    let lastScrollTop = box.scrollTop;
    const onScroll = (): void => {
      const nowAtEnd = !latestIsCut.current && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
      // Only a reader scrolls up. When content shrinks, the position becomes smaller, too, but then the view is at the
      // end. The browser itself would scroll up when it keeps the place of a block while others are removed above it.
      // The style `eca-mod-following` forbids that.
      if (nowAtEnd || box.scrollTop < lastScrollTop) {
        follows.current = nowAtEnd;
        setAtEnd(nowAtEnd);
      }
      lastScrollTop = box.scrollTop;
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
  return { frame, content, isAtEnd, jumpToEnd, leaveEnd };
}

/**
 * Keep the block that is being read at its place when other blocks are added or removed before it. Browsers do this
 * too, but not always: while the wheel is being turned, and at the top of the frame, they do not change the position.
 * `isAtEnd`: the end of the transcript is in view. Then nothing is kept, because the frame follows the end.
 */
function useScrollAnchoring(frame: React.RefObject<HTMLDivElement>, isAtEnd: boolean): void {
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
    if (!isAtEnd && frame.current !== null && place.current?.block.isConnected === true) {
      const moved = place.current.block.getBoundingClientRect().top - place.current.top;
      if (Math.abs(moved) >= 1) {
        frame.current.scrollTop += moved;
      }
    }
  });
}

/**
 * Keep a message in view and its words highlighted, until the reader scrolls or presses something. So the message stays
 * in view while the Markdown of the other blocks is drawn. `found` is undefined while the message is not in the page.
 */
function useFoundMessage(frame: React.RefObject<HTMLDivElement>, found: FoundMessage | undefined): void {
  /** The message from which the reader has turned away. */
  const left = React.useRef<FoundMessage>();
  React.useEffect(() => {
    const box = frame.current;
    const element = box?.querySelector<HTMLElement>('.eca-mod-found');
    // The button that jumps to the end is beside the box, in the same element.
    const around = box?.parentElement;
    if (found === undefined || box === null || !element || !around) {
      return;
    }
    const observer = new ResizeObserver(() => {
      if (left.current !== found) {
        element.scrollIntoView({ block: 'center' });
        // The browser reports a scroll only with the next frame. The other listeners must know the place before that.
        box.dispatchEvent(new Event('scroll'));
      }
    });
    const leave = (): void => {
      left.current = found;
    };
    // Called at once with the present size, and then whenever something in the box grows.
    observer.observe(box.firstElementChild ?? box);
    READER_EVENTS.forEach(type => {
      around.addEventListener(type, leave, { passive: true });
    });
    const endHighlight = highlightWords(element, found.words);
    return () => {
      observer.disconnect();
      READER_EVENTS.forEach(type => {
        around.removeEventListener(type, leave);
      });
      endHighlight();
    };
  }, [frame, found]);
}

/** The events of a reader who scrolls or presses something. */
const READER_EVENTS = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

/** Return the first block of which at least a part is visible in the frame; undefined when there is none. */
function findFirstVisible(box: Element): Element | undefined {
  const { top } = box.getBoundingClientRect();
  return [...box.querySelectorAll(':scope > * > .eca-Block')].find(
    block => block.getBoundingClientRect().bottom > top + 1
  );
}

/**
 * Draws a button in place of blocks that are not in the page. `onNear` is called when the reader scrolls near the
 * button or presses it.
 */
function LoadMore({
  frame,
  side,
  onNear
}: {
  /** The element that scrolls. */
  readonly frame: React.RefObject<HTMLDivElement>;
  /** Whether the missing blocks are before the blocks in the page (`start`), or after them (`end`). */
  readonly side: 'start' | 'end';
  readonly onNear: () => void;
}): React.ReactElement {
  const { trans } = useEnv();
  const button = React.useRef<HTMLButtonElement>(null);
  React.useEffect(() => {
    if (button.current === null) {
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
      // The button counts as visible when it is less than 200 pixels away. So the reader need not wait for the blocks.
      { root: frame.current, rootMargin: '200px 0px' }
    );
    observer.observe(button.current);
    return () => {
      observer.disconnect();
    };
  }, [frame, side, onNear]);
  return (
    <button type="button" className="eca-Link eca-Earlier" ref={button} onClick={onNear}>
      {side === 'start' ? trans.__('Show earlier messages') : trans.__('Show later messages')}
    </button>
  );
}
