/**
 * The transcript of a chat, or of a subagent within a chat: its blocks, status and usage. Pure.
 *
 * The server sends a chat as contents, one message for each piece of text or stage of a tool call. `blocks.ts` turns
 * contents into blocks. This module knows no chat and no replay: both are in `state.ts`.
 */

import { Blocks, endBlocks, addContent } from './blocks';
import { AnswerRating, ChatContentReceivedParams, ChatStatus, TaskDetails, UsageContent } from '../wire/protocol';

/** The transcript of a chat or, while the chat is replayed, of the part that was received so far. */
export interface Transcript {
  /** The highest sequence number among the contents that were applied. */
  readonly seq: number;
  readonly blocks: Blocks;
  /** What the chat is doing. In `idle` no turn is running. */
  readonly status: ChatStatus;
  /** What the running turn is doing, in words; empty when no turn is running. */
  readonly progress: string;
  readonly title: string;
  /** The tokens and the cost so far; null until the server has sent them. */
  readonly usage: UsageContent | null;
  /** The ids of the turns that have ended, by the key of the last block of each turn. */
  readonly endedTurns?: Readonly<Record<string, string>> | undefined;
  /**
   * The ratings of the answers, by the ids of the messages before the answers. A rating that was removed is null: there
   * may be an earlier one on an older page, which does not count.
   */
  readonly ratings?: Readonly<Record<string, AnswerRating | null>> | undefined;
  /** The transcripts of subagents, by the ids of their chats. The call that started a subagent names its chat. */
  readonly subagents?: Readonly<Record<string, Transcript>> | undefined;
  /** True when the last answer is a plan that the assistant can carry out if the user wants it. */
  readonly hasProposedPlan?: true | undefined;
  /** The last list of tasks before the loaded history; undefined when there is none. */
  readonly tasks?: TaskDetails | undefined;
  /** The server's cursor for the place where the loaded history begins; undefined when all of the history is loaded. */
  readonly startCursor?: string | number | undefined;
}

/** The transcript of a new chat. It lists optional fields too, so that a chat that is cleared loses them. */
export const EMPTY_TRANSCRIPT: Transcript = {
  seq: 0,
  blocks: [],
  status: 'idle',
  progress: '',
  title: '',
  usage: null,
  endedTurns: undefined,
  ratings: undefined,
  subagents: undefined,
  hasProposedPlan: undefined,
  tasks: undefined,
  startCursor: undefined
};

/** Return the transcript with a content applied. If the content changes nothing, the transcript is the same object. */
export function applyContent(before: Transcript, params: ChatContentReceivedParams): Transcript {
  const { content } = params;
  const now = { ...before, ...advanceSeq(before, params) };
  switch (content.type) {
    case 'progress':
      return content.state === 'running'
        ? { ...now, progress: content.text, ...(before.status === 'idle' && { status: 'running' }) }
        : {
            ...now,
            progress: '',
            status: 'idle',
            blocks: endBlocks(before.blocks),
            hasProposedPlan: content.plan === true || undefined,
            ...recordEnd(before, params)
          };
    case 'usage':
      return { ...now, usage: content };
    case 'rating':
      return { ...now, ratings: { ...before.ratings, [content.contentId]: content.rating ?? null } };
    default: {
      const blocks = addContent(before.blocks, params);
      return blocks === before.blocks && now.seq === before.seq ? before : { ...now, blocks };
    }
  }
}

/** Return `endedTurns` with the turn of this content added. The turn has ended with the last block. */
function recordEnd(
  { blocks, endedTurns }: Transcript,
  { turn }: ChatContentReceivedParams
): Pick<Transcript, 'endedTurns'> {
  const last = blocks.at(-1);
  return turn === undefined || last === undefined ? {} : { endedTurns: { ...endedTurns, [last.key]: turn } };
}

/** Return the highest `seq` so far. A content that is not stored has none. */
function advanceSeq(before: Transcript, { seq }: ChatContentReceivedParams): Pick<Transcript, 'seq'> {
  return { seq: Math.max(before.seq, seq ?? 0) };
}

/** Return the transcript of a chat without its other fields. */
export function pickTranscript(chat: Transcript): Transcript {
  const { seq, blocks, status, progress, title, usage, endedTurns, ratings, subagents, hasProposedPlan } = chat;
  const { tasks, startCursor } = chat;
  return {
    seq,
    blocks,
    status,
    progress,
    title,
    usage,
    endedTurns,
    ratings,
    subagents,
    hasProposedPlan,
    tasks,
    startCursor
  };
}
