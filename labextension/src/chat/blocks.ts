/**
 * A transcript as blocks, a pure function of the contents that came.
 *
 * Order-tolerant: a tool call may be heard of first at any of its stages and never goes back to an earlier one; a
 * reasoning may be heard of first in its middle. What is not understood changes nothing.
 */

import {
  Cause,
  ChatContentReceivedParams,
  ChatToolCallProgressParams,
  Content,
  ImageContent,
  Origin,
  RejectReason,
  TaskDetails,
  TextOutput,
  ToolCallDetails,
  ToolCalledContent,
  ToolCallPrepareContent,
  ToolCallRejectedContent,
  ToolCallRunContent,
  ToolCallRunningContent
} from '../wire/protocol';

/** `key` is the place in the transcript: the same after a replay. */
interface Placed {
  readonly key: string;
}

/** `contentId` is what the server takes a message back by. */
export interface UserBlock extends Placed {
  readonly kind: 'user';
  readonly text: string;
  readonly images: readonly ImageContent[];
  readonly contentId?: string;
  readonly at?: number;
}

export interface TextBlock extends Placed {
  readonly kind: 'text' | 'system';
  readonly text: string;
}

/** `ms` is there once it has ended. */
export interface ReasonBlock extends Placed {
  readonly kind: 'reason';
  readonly id: string;
  readonly text: string;
  readonly ms?: number;
}

/** `waiting` is for somebody's approval; `ended` is a call whose turn was over before it was decided or had run. */
export type ToolStatus = 'preparing' | 'waiting' | 'ready' | 'running' | 'done' | 'failed' | 'rejected' | 'ended';

export interface ToolBlock extends Placed {
  readonly kind: 'tool';
  readonly id: string;
  readonly name: string;
  readonly server: string;
  readonly origin: Origin;
  readonly status: ToolStatus;
  readonly argumentsText: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly summary?: string;
  readonly details?: ToolCallDetails;
  readonly outputs: readonly TextOutput[];
  /** How far it is, until it has ended. */
  readonly progress?: Pick<ChatToolCallProgressParams, 'text' | 'progress' | 'total' | 'background'> | undefined;
  readonly ms?: number;
  /** How many characters there are of an output that is not all here. */
  readonly whole?: number;
  readonly reason?: RejectReason;
  /** Why it ran, asked or was forbidden; `asked` is whether somebody had to approve it. */
  readonly cause?: Cause;
  readonly asked?: boolean;
}

export interface LinkBlock extends Placed {
  readonly kind: 'url';
  readonly title: string;
  readonly url: string;
}

export interface ImageBlock extends Placed {
  readonly kind: 'image';
  readonly image: ImageContent;
}

export interface FlagBlock extends Placed {
  readonly kind: 'flag';
  readonly text: string;
  readonly contentId: string;
}

/** A hook of the user's configuration; `status` is there once it has ended. */
export interface HookBlock extends Placed {
  readonly kind: 'hook';
  readonly id: string;
  readonly name: string;
  readonly status?: number;
  readonly output: string;
}

export type Block = UserBlock | TextBlock | ReasonBlock | ToolBlock | LinkBlock | ImageBlock | FlagBlock | HookBlock;
export type Blocks = readonly Block[];

type ToolContent =
  ToolCallPrepareContent | ToolCallRunContent | ToolCallRunningContent | ToolCalledContent | ToolCallRejectedContent;

/** A call only moves to a stage with a higher rank. */
const RANK: Readonly<Record<ToolStatus, number>> = {
  preparing: 0,
  ready: 1,
  waiting: 1,
  running: 2,
  done: 3,
  failed: 3,
  rejected: 3,
  ended: 3
};

/** With the content told. */
export function told(blocks: Blocks, { role, content, at }: ChatContentReceivedParams): Blocks {
  switch (content.type) {
    case 'text':
      return role === 'user'
        ? asked(blocks, content, at)
        : said(blocks, role === 'system' ? 'system' : 'text', content);
    case 'reasonStarted':
      return reasoned(blocks, content.id, '');
    case 'reasonText':
      return reasoned(blocks, content.id, string(content.text));
    case 'reasonFinished':
      return reasoned(blocks, content.id, '', content.totalTimeMs);
    case 'toolCallPrepare':
    case 'toolCallRun':
    case 'toolCallRunning':
    case 'toolCalled':
    case 'toolCallRejected':
      return called(blocks, content);
    case 'image':
      return pictured(blocks, content, role === 'user');
    case 'url':
      return add(blocks, { kind: 'url', title: string(content.title), url: string(content.url) });
    case 'flag':
      return flagged(blocks, { kind: 'flag', text: string(content.text), contentId: content.contentId });
    case 'hookActionStarted':
      return hooked(blocks, content.id, { name: content.name });
    case 'hookActionFinished': {
      const output = [content.output, content.error].filter(Boolean).join('\n');
      return hooked(blocks, content.id, { name: content.name, status: content.status, output });
    }
    default:
      return blocks;
  }
}

/** A report may overtake the word that the call runs, and is never told again: no call is made of it. */
export function progressed(blocks: Blocks, report: ChatToolCallProgressParams): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.id === report.id);
  const before = blocks[index];
  if (before?.kind !== 'tool' || !open(before)) {
    return blocks;
  }
  const { text, progress, total, background } = report;
  const now = {
    text: string(text),
    ...(progress !== undefined && { progress }),
    ...(total !== undefined && { total }),
    ...(background !== undefined && { background })
  };
  return put(blocks, index, { ...before, progress: now });
}

/** The list of tasks as its last change left it; undefined when all of it was done before the user last spoke. */
export function plan(blocks: Blocks): TaskDetails | undefined {
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.details?.type === 'task');
  const block = blocks[index];
  if (block?.kind !== 'tool' || block.details?.type !== 'task' || block.details.tasks.length === 0) {
    return undefined;
  }
  const over = block.details.tasks.every(({ status }) => status === 'done');
  return over && blocks.slice(index).some(({ kind }) => kind === 'user') ? undefined : block.details;
}

/** At the end of a turn nothing is under way any more. */
export function ended(blocks: Blocks): Blocks {
  return blocks.some(open)
    ? blocks.map(block => {
        if (!open(block)) {
          return block;
        }
        return block.kind === 'tool' ? { ...still(block), status: 'ended' } : { ...block, ms: 0 };
      })
    : blocks;
}

function open(block: Block): block is ToolBlock | ReasonBlock {
  return (block.kind === 'tool' && RANK[block.status] < 3) || (block.kind === 'reason' && block.ms === undefined);
}

function still(block: ToolBlock): ToolBlock {
  return block.progress === undefined ? block : { ...block, progress: undefined };
}

/** Distributes over the union: a plain `Omit` would keep only what all blocks have. */
type Unplaced<B> = B extends Block ? Omit<B, 'key'> : never;

function add(blocks: Blocks, block: Unplaced<Block>): Blocks {
  return [...blocks, { ...block, key: `b${String(blocks.length)}` }];
}

/** At the message that it marks, whenever it was set. */
function flagged(blocks: Blocks, flag: Unplaced<FlagBlock>): Blocks {
  const at = blocks.findIndex(block => block.kind === 'user' && block.contentId === flag.contentId);
  const [made] = add(blocks, flag).slice(-1);
  return at < 0 || made === undefined ? add(blocks, flag) : [...blocks.slice(0, at + 1), made, ...blocks.slice(at + 1)];
}

function put(blocks: Blocks, index: number, block: Block): Blocks {
  const changed = blocks.slice();
  changed[index] = block;
  return changed;
}

function asked(blocks: Blocks, { text, contentId }: Content & { type: 'text' }, at?: number): Blocks {
  return add(blocks, {
    kind: 'user',
    text: string(text),
    images: [],
    ...(contentId !== undefined && { contentId }),
    ...(at !== undefined && { at })
  });
}

/** What the assistant says comes in pieces, what the system says in whole sentences. */
function said(blocks: Blocks, kind: 'text' | 'system', content: Content & { type: 'text' }): Blocks {
  const text = string(content.text);
  const last = blocks.at(-1);
  if (kind === 'text' && last?.kind === 'text') {
    return put(blocks, blocks.length - 1, { ...last, text: last.text + text });
  }
  return text === '' ? blocks : add(blocks, { kind, text });
}

function reasoned(blocks: Blocks, id: string, text: string, ms?: number): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'reason' && block.id === id);
  const before = blocks[index];
  if (before?.kind === 'reason') {
    return put(blocks, index, { ...before, text: before.text + text, ...(ms !== undefined && { ms }) });
  }
  return add(blocks, { kind: 'reason', id, text, ...(ms !== undefined && { ms }) });
}

function called(blocks: Blocks, content: ToolContent): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.id === content.id);
  const before = blocks[index];
  if (before?.kind === 'tool') {
    const now = { ...before, ...stage(content, before) };
    return put(blocks, index, open(now) ? now : still(now));
  }
  return add(blocks, {
    kind: 'tool',
    id: content.id,
    name: string(content.name),
    server: string(content.server),
    origin: content.origin,
    argumentsText: '',
    outputs: [],
    ...stage(content)
  });
}

function stage(content: ToolContent, before?: ToolBlock): Partial<ToolBlock> & Pick<ToolBlock, 'status'> {
  const status = statusOf(content);
  const known = before?.status ?? 'preparing';
  const text = content.type === 'toolCallPrepare' ? (before?.argumentsText ?? '') + content.argumentsText : undefined;
  return {
    status: RANK[status] > RANK[known] ? status : known,
    ...(content.summary !== undefined && { summary: content.summary }),
    ...(content.details !== undefined && { details: content.details }),
    ...(text !== undefined && { argumentsText: text }),
    ...('arguments' in content && { arguments: content.arguments }),
    ...('cause' in content && { cause: content.cause }),
    ...('cause' in content && content.type === 'toolCallRun' && { asked: content.manualApproval }),
    ...(content.type === 'toolCalled' && { outputs: content.outputs, ms: content.totalTimeMs }),
    ...(content.type === 'toolCalled' && content.whole !== undefined && { whole: content.whole }),
    ...(content.type === 'toolCallRejected' && { reason: content.reason })
  };
}

function statusOf(content: ToolContent): ToolStatus {
  switch (content.type) {
    case 'toolCallPrepare':
      return 'preparing';
    case 'toolCallRun':
      return content.manualApproval ? 'waiting' : 'ready';
    case 'toolCallRunning':
      return 'running';
    case 'toolCalled':
      return content.error ? 'failed' : 'done';
    case 'toolCallRejected':
      return 'rejected';
  }
}

function pictured(blocks: Blocks, image: ImageContent, byUser: boolean): Blocks {
  const last = blocks.at(-1);
  if (byUser && last?.kind === 'user') {
    return put(blocks, blocks.length - 1, { ...last, images: [...last.images, image] });
  }
  return add(blocks, { kind: 'image', image });
}

function hooked(blocks: Blocks, id: string, more: { name: string; status?: number; output?: string }): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'hook' && block.id === id);
  const before = blocks[index];
  return before?.kind === 'hook'
    ? put(blocks, index, { ...before, ...more })
    : add(blocks, { kind: 'hook', id, output: '', ...more });
}

/** A peer that sends something else is wrong, but that must not make a block nobody can show. */
function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
