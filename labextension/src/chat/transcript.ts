/**
 * The transcript of a chat, or of a subagent within a chat: its blocks, status and usage. Pure.
 *
 * The server sends a chat as contents, one message for each piece of text or stage of a tool call. `blocks.ts` turns
 * contents into blocks. This module knows no chat and no replay: both are in `state.ts`.
 */

import { Blocks, endBlocks, addContent } from './blocks';
import { ChatContentReceivedParams, ChatStatus, TaskDetails, UsageContent } from '../wire/protocol';

/** What is known of a chat, or of a part of it while it is replayed. */
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
  /** The ids of the turns that have ended, by the key of each turn's last block. */
  readonly ends?: Readonly<Record<string, string>> | undefined;
  /** The transcripts of subagents, by the ids of their chats. The call that started a subagent names its chat. */
  readonly agents?: Readonly<Record<string, Transcript>> | undefined;
  /** Present when the last answer is a plan that can be carried out. */
  readonly plan?: true | undefined;
  /** The last list of tasks before the loaded history; undefined when there is none. */
  readonly tasks?: TaskDetails | undefined;
  /** The place where the loaded history begins; undefined when the history is loaded from its beginning. */
  readonly before?: string | number | undefined;
}

/** The transcript of a new chat. It lists optional fields too, so that a chat that is cleared loses them. */
export const EMPTY_TRANSCRIPT: Transcript = {
  seq: 0,
  blocks: [],
  status: 'idle',
  progress: '',
  title: '',
  usage: null,
  ends: undefined,
  agents: undefined,
  plan: undefined,
  tasks: undefined,
  before: undefined
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
            plan: content.plan === true || undefined,
            ...recordEnd(before, params)
          };
    case 'usage':
      return { ...now, usage: content };
    default: {
      const blocks = addContent(before.blocks, params);
      return blocks === before.blocks && now.seq === before.seq ? before : { ...now, blocks };
    }
  }
}

/** Return `ends` with the turn of a content added: it ends with the last block. */
function recordEnd({ blocks, ends }: Transcript, { turn }: ChatContentReceivedParams): Pick<Transcript, 'ends'> {
  const last = blocks.at(-1);
  return turn === undefined || last === undefined ? {} : { ends: { ...ends, [last.key]: turn } };
}

/** Return the highest `seq` so far. A content that is not stored has none. */
function advanceSeq(before: Transcript, { seq }: ChatContentReceivedParams): Pick<Transcript, 'seq'> {
  return { seq: Math.max(before.seq, seq ?? 0) };
}

/** Return the transcript of a chat without its other fields. */
export function pickTranscript(chat: Transcript): Transcript {
  const { seq, blocks, status, progress, title, usage, ends, agents, plan, tasks, before } = chat;
  return { seq, blocks, status, progress, title, usage, ends, agents, plan, tasks, before };
}
