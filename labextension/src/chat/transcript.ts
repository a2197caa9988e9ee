/**
 * The transcript of a chat, or of a subagent's part of one: blocks, status, usage. Pure.
 *
 * Knows no chat and no replay: both are in `state.ts`. How a content becomes a block is in `blocks.ts`.
 */

import { Blocks, endBlocks, addContent } from './blocks';
import { ChatContentReceivedParams, ChatStatus, UsageContent } from '../wire/protocol';

export interface Transcript {
  /** The highest sequence number that was taken. */
  readonly seq: number;
  readonly blocks: Blocks;
  readonly status: ChatStatus;
  readonly progress: string;
  readonly title: string;
  readonly usage: UsageContent | null;
  /** The turns that have ended, by the keys of their last blocks. */
  readonly ends?: Readonly<Record<string, string>> | undefined;
  /** The transcripts of subagents, by the ids of their chats, which their calls name. */
  readonly agents?: Readonly<Record<string, Transcript>> | undefined;
  /** The last answer is a plan that can be carried out. */
  readonly plan?: true | undefined;
  /** The place before which there are older contents; undefined when all are here. */
  readonly before?: string | number | undefined;
}

/** Optional fields are listed as well, so that a chat that is cleared loses them. */
export const EMPTY: Transcript = {
  ...{ seq: 0, blocks: [], status: 'idle', progress: '', title: '', usage: null },
  ...{ ends: undefined, agents: undefined, plan: undefined, before: undefined }
};

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

function recordEnd({ blocks, ends }: Transcript, { turn }: ChatContentReceivedParams): Pick<Transcript, 'ends'> {
  const last = blocks.at(-1);
  return turn === undefined || last === undefined ? {} : { ends: { ...ends, [last.key]: turn } };
}

function advanceSeq(before: Transcript, { seq }: ChatContentReceivedParams): Pick<Transcript, 'seq'> {
  return { seq: Math.max(before.seq, seq ?? 0) };
}

/** Return the transcript of a chat without its other fields. */
export function pickTranscript(chat: Transcript): Transcript {
  const { seq, blocks, status, progress, title, usage, ends, agents, plan, before } = chat;
  return { seq, blocks, status, progress, title, usage, ends, agents, plan, before };
}
