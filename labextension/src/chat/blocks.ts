/**
 * The transcript of a chat as a list of blocks, computed from the contents that the server sent. Pure.
 *
 * The server sends a chat as contents. A content is a small part of a chat: a piece of text, or a stage of a tool call,
 * for example. A block is one thing that the panel draws: a message, an answer, or the card of a tool call. So several
 * contents make one block.
 *
 * Contents may be missing at the beginning, or come late. So the first content of a tool call may belong to any of its
 * stages, and a call never goes back to an earlier stage. The first content of a reasoning may be a piece from its
 * middle. A content of an unknown type changes nothing.
 *
 * This module knows no chat: `transcript.ts` adds the status and the usage.
 */

import {
  Cause,
  ChangePart,
  ChatContext,
  ChatContentReceivedParams,
  ChatToolCallProgressParams,
  Content,
  FileChangeDetails,
  ImageContent,
  MovePart,
  Origin,
  Person,
  RejectReason,
  TaskDetails,
  TextOutput,
  ToolCallDetails,
  ToolCalledContent,
  ToolCallPrepareContent,
  ToolCallRejectedContent,
  ToolCallRunContent,
  ToolCallRunningContent,
  TurnFailure
} from '../wire/protocol';

/** The field that all blocks have. */
interface Keyed {
  /** Identifies the block in its transcript. It is the same after a replay. */
  readonly key: string;
}

/** A message of the user. */
export interface UserBlock extends Keyed {
  readonly kind: 'user';
  readonly text: string;
  /** The images that were sent with the message. */
  readonly images: readonly ImageContent[];
  /** The contexts that the text mentions. */
  readonly contexts?: readonly ChatContext[];
  /** The id of the message on the server, which rolls back to it by this id. */
  readonly contentId?: string;
  /** When the message was sent, in milliseconds since 1970. */
  readonly at?: number;
  /** Who has sent the message, on a server that tells its users apart. */
  readonly by?: Person;
}

/** `text`: an answer of the model, as Markdown. `system`: a message of the server. */
export interface TextBlock extends Keyed {
  readonly kind: 'text' | 'system';
  readonly text: string;
}

/** Says why a turn failed. */
export interface FailureBlock extends Keyed {
  readonly kind: 'failure';
  /** The server's own words. */
  readonly text: string;
  /** The kind of the failure, and the model that it is about. */
  readonly failure: TurnFailure;
}

/** The reasoning of the model before an answer. */
export interface ReasonBlock extends Keyed {
  readonly kind: 'reason';
  /** The id of the reasoning on the server, by which its pieces of text are joined. */
  readonly id: string;
  readonly text: string;
  /** How long the reasoning took, in milliseconds; undefined until it has ended. */
  readonly ms?: number;
}

/**
 * The status of a tool call. `waiting`: it needs an approval. `ready`: it may run, and has not begun. `ended`: its turn
 * was over before the call was decided or had run.
 */
export type ToolStatus = 'preparing' | 'waiting' | 'ready' | 'running' | 'done' | 'failed' | 'rejected' | 'ended';

/** A tool call, from the first letters of its arguments to its result. */
export interface ToolBlock extends Keyed {
  readonly kind: 'tool';
  /** The id of the call. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  /** The name of the tool's server: an MCP server, or the assistant itself. */
  readonly server: string;
  /** Whether the tool is the assistant's own or that of an MCP server. */
  readonly origin: Origin;
  readonly status: ToolStatus;
  /** The JSON of the arguments, as far as the model has written it. */
  readonly argumentsText: string;
  /** The parsed arguments; undefined while the model writes them. */
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** What the call does, in one line. */
  readonly summary?: string;
  /** What the card shows in place of the arguments, for example a diff. */
  readonly details?: ToolCallDetails;
  /** The result of the call; empty until it has ended. */
  readonly outputs: readonly TextOutput[];
  /** How far the running call has come; undefined after its end. */
  readonly progress?: Pick<ChatToolCallProgressParams, 'text' | 'progress' | 'total' | 'background'> | undefined;
  /** How long the call took, in milliseconds; undefined until its end. */
  readonly ms?: number;
  /** The number of characters in the whole output. Present when `outputs` has only a part of it. */
  readonly wholeLength?: number;
  /** Why the call was rejected. */
  readonly reason?: RejectReason;
  /** Who has approved or rejected the call, on a server that tells its users apart. */
  readonly by?: Person;
  /** The rule or default that decided whether the call runs, needs an approval, or is forbidden. */
  readonly cause?: Cause;
  /** Whether the user was asked to approve the call. */
  readonly asked?: boolean;
  /**
   * The user may approve the call for the session: then later calls of the same kind in this chat need no approval.
   * These words say which calls; undefined when no later call would be approved.
   */
  readonly remembers?: readonly string[] | undefined;
  /** The indexes of the parts of its change that the user leaves out, if the call is approved. */
  readonly leftOut?: readonly number[];
  /** What is left of the change without these parts; undefined until the server has computed it. */
  readonly remaining?: FileChangeDetails | undefined;
  /** The summary (or else the tool's name) of another call, which must end before this call can run. */
  readonly waitsFor?: string | undefined;
  /** The id of that other call. */
  readonly blockerId?: string | undefined;
}

/** A link to a page that an answer refers to. */
export interface LinkBlock extends Keyed {
  readonly kind: 'url';
  readonly title: string;
  readonly url: string;
}

/** An image that the assistant made. Images of the user are in a `UserBlock`. */
export interface ImageBlock extends Keyed {
  readonly kind: 'image';
  readonly image: ImageContent;
}

/** A mark with a text that the user added to a message. */
export interface FlagBlock extends Keyed {
  readonly kind: 'flag';
  readonly text: string;
  /** The id of the message that is marked. */
  readonly contentId: string;
}

/** A run of a hook, which is a command of the user's configuration that the server runs at certain events. */
export interface HookBlock extends Keyed {
  readonly kind: 'hook';
  /** The id of this run. */
  readonly id: string;
  /** The name of the hook in the configuration. */
  readonly name: string;
  /** The exit status; undefined until the hook has ended. */
  readonly status?: number;
  /** What the hook has printed. */
  readonly output: string;
}

/** One thing that the panel draws in a transcript. `kind` tells which. */
export type Block =
  UserBlock | TextBlock | FailureBlock | ReasonBlock | ToolBlock | LinkBlock | ImageBlock | FlagBlock | HookBlock;
/** The blocks of a transcript, in the order in which they are drawn. */
export type Blocks = readonly Block[];

/** The types of contents that report a stage of a tool call. */
type ToolContent =
  ToolCallPrepareContent | ToolCallRunContent | ToolCallRunningContent | ToolCalledContent | ToolCallRejectedContent;

/**
 * The order of the stages of a tool call. A call only goes to a stage with a higher rank, with one exception: a call
 * that is ready may wait for approval again, when the user withdraws what has allowed it. The last four are final.
 */
const STAGE_RANKS: Readonly<Record<ToolStatus, number>> = {
  preparing: 0,
  waiting: 1,
  ready: 2,
  running: 3,
  done: 4,
  failed: 4,
  rejected: 4,
  ended: 4
};

/** Return the blocks with a content added. */
export function addContent(blocks: Blocks, { role, content, at, by }: ChatContentReceivedParams): Blocks {
  switch (content.type) {
    case 'text':
      return role === 'user'
        ? addUserText(blocks, content, at, by)
        : addText(blocks, role === 'system' ? 'system' : 'text', content);
    case 'reasonStarted':
      return addReasoning(blocks, content.id, '');
    case 'reasonText':
      return addReasoning(blocks, content.id, asString(content.text));
    case 'reasonFinished':
      return addReasoning(blocks, content.id, '', content.totalTimeMs);
    case 'toolCallPrepare':
    case 'toolCallRun':
    case 'toolCallRunning':
    case 'toolCalled':
    case 'toolCallRejected':
      return updateCall(blocks, content, by);
    case 'image':
      return addImage(blocks, content, role === 'user');
    case 'url':
      return appendBlock(blocks, { kind: 'url', title: asString(content.title), url: asString(content.url) });
    case 'flag':
      return insertFlag(blocks, { kind: 'flag', text: asString(content.text), contentId: content.contentId });
    case 'hookActionStarted':
      return updateHook(blocks, content.id, { name: content.name });
    case 'hookActionFinished': {
      const output = [content.output, content.error].filter(Boolean).join('\n');
      return updateHook(blocks, content.id, { name: content.name, status: content.status, output });
    }
    default:
      return blocks;
  }
}

/**
 * Return the blocks with the progress of a call updated. A report changes nothing if the call is unknown or has ended.
 * A call gets its block from its contents, and never from a report: a replay has the contents, but not the reports.
 */
export function setProgress(blocks: Blocks, report: ChatToolCallProgressParams): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.id === report.id);
  const before = blocks[index];
  if (before?.kind !== 'tool' || !isOpen(before)) {
    return blocks;
  }
  const { text, progress, total, background } = report;
  const newProgress = {
    text: asString(text),
    ...(progress !== undefined && { progress }),
    ...(total !== undefined && { total }),
    ...(background !== undefined && { background })
  };
  return replaceBlock(blocks, index, { ...before, progress: newProgress });
}

/**
 * Return the blocks after the user has chosen the parts to leave out of the change of a waiting call. `id` is the id of
 * the call, and `leftOut` has the indexes of these parts. `remaining` is what is left of the change, if the server has
 * computed it. It is ignored if the user has chosen other parts since then.
 */
export function setLeftOut(
  blocks: Blocks,
  id: string,
  leftOut: readonly number[],
  remaining?: FileChangeDetails
): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.id === id);
  const before = blocks[index];
  return before?.kind === 'tool' &&
    before.status === 'waiting' &&
    (remaining === undefined || before.leftOut === leftOut)
    ? replaceBlock(blocks, index, { ...before, leftOut, remaining })
    : blocks;
}

/** How many parts are left of a change of which the user leaves out some. */
export interface PartCount {
  /** The number of parts that are approved. */
  readonly kept: number;
  /** The number of all parts. */
  readonly all: number;
  /** Whether the call would still change something. */
  readonly changesSomething: boolean;
}

/** Count the parts of a waiting call that are approved; undefined when no part is left out. */
export function countParts({ details, leftOut = [] }: ToolBlock): PartCount | undefined {
  if (leftOut.length === 0 || details?.type !== 'fileChange') {
    return undefined;
  }
  const { parts = [], cells = [] } = details;
  const keptCount = parts.length - leftOut.length;
  const changesSomething = keptCount > 0 || cells.some(change => !parts.some(part => isPartOf(part, change)));
  return { kept: keptCount, all: parts.length, changesSomething };
}

/**
 * Return whether a part, which the user can leave out, belongs to this change of a cell. In chats of earlier versions,
 * parts name no cell, because a call edited only one cell.
 */
export function isPartOf(
  part: ChangePart | MovePart,
  change: NonNullable<FileChangeDetails['cells']>[number]
): boolean {
  return 'kind' in part
    ? change.kind === 'move' && part.cellId === change.cellId
    : change.kind === 'edit' && (part.cellId === undefined || part.cellId === change.cellId);
}

/**
 * Return the newest list of tasks that the model has written. Undefined when there is none, or when all of its tasks
 * were done before the user's last message. `earlier` is the last list in the part of the chat before `blocks`, which
 * is not loaded. It is used if the blocks have no list.
 */
export function findPlan(blocks: Blocks, earlier?: TaskDetails): TaskDetails | undefined {
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.details?.type === 'task');
  if (index === -1) {
    return earlier?.tasks.every(({ status }) => status === 'done') === true ? undefined : earlier;
  }
  const block = blocks[index];
  if (block?.kind !== 'tool' || block.details?.type !== 'task' || block.details.tasks.length === 0) {
    return undefined;
  }
  const isDone = block.details.tasks.every(({ status }) => status === 'done');
  return isDone && blocks.slice(index).some(({ kind }) => kind === 'user') ? undefined : block.details;
}

/**
 * Return the blocks as they are when their turn has ended: all calls and reasonings that are still open are ended. It
 * is not known how long such a reasoning took. Its time is set to 0.
 */
export function endBlocks(blocks: Blocks): Blocks {
  return blocks.some(isOpen)
    ? blocks.map(block => {
        if (!isOpen(block)) {
          return block;
        }
        return block.kind === 'tool' ? { ...clearProgress(block), status: 'ended' } : { ...block, ms: 0 };
      })
    : blocks;
}

/** Whether a block is a tool call or reasoning that has not ended. */
function isOpen(block: Block): block is ToolBlock | ReasonBlock {
  return (
    (block.kind === 'tool' && STAGE_RANKS[block.status] < STAGE_RANKS.done) ||
    (block.kind === 'reason' && block.ms === undefined)
  );
}

/** Return a tool call without its progress, which is shown only while the call runs. */
function clearProgress(block: ToolBlock): ToolBlock {
  return block.progress === undefined ? block : { ...block, progress: undefined };
}

/** A block without its key. The condition distributes over the union: a plain `Omit` keeps only common fields. */
type Unkeyed<B> = B extends Block ? Omit<B, 'key'> : never;

/** Return the blocks with another block at the end. */
function appendBlock(blocks: Blocks, block: Unkeyed<Block>): Blocks {
  return [...blocks, { ...block, key: createKey(blocks) }];
}

/** Return the key of a new block: the number of blocks so far. The key is unique, because blocks are never removed. */
function createKey(blocks: Blocks): string {
  return `b${String(blocks.length)}`;
}

/** Return the blocks with a flag right after the message that it marks, or at the end if that message is not known. */
function insertFlag(blocks: Blocks, flag: Unkeyed<FlagBlock>): Blocks {
  const message = blocks.findIndex(block => block.kind === 'user' && block.contentId === flag.contentId);
  const place = message < 0 ? blocks.length : message + 1;
  return [...blocks.slice(0, place), { ...flag, key: createKey(blocks) }, ...blocks.slice(place)];
}

/** Return a copy of the blocks with another block at `index`. */
function replaceBlock(blocks: Blocks, index: number, block: Block): Blocks {
  const changed = blocks.slice();
  changed[index] = block;
  return changed;
}

/** Add a message of the user. `at`: when it was sent, in milliseconds since 1970. `by`: who has sent it. */
function addUserText(
  blocks: Blocks,
  { text, contentId, contexts }: Content & { type: 'text' },
  at?: number,
  by?: Person
): Blocks {
  return appendBlock(blocks, {
    kind: 'user',
    text: asString(text),
    images: [],
    ...(contentId !== undefined && { contentId }),
    ...(Array.isArray(contexts) && { contexts }),
    ...(at !== undefined && { at }),
    ...readPerson(by)
  });
}

/** Add a text. Texts of the assistant come in pieces, which are joined. Texts of the system come as whole sentences. */
function addText(blocks: Blocks, kind: 'text' | 'system', content: Content & { type: 'text' }): Blocks {
  const text = asString(content.text);
  if (content.failure !== undefined) {
    return appendBlock(blocks, { kind: 'failure', text, failure: content.failure });
  }
  const last = blocks.at(-1);
  if (kind === 'text' && last?.kind === 'text') {
    return replaceBlock(blocks, blocks.length - 1, { ...last, text: last.text + text });
  }
  return text === '' ? blocks : appendBlock(blocks, { kind, text });
}

/**
 * Add text to the reasoning with this id. If the reasoning is new, add a block. `ms`: how long the reasoning took, in
 * milliseconds; undefined if it has not ended.
 */
function addReasoning(blocks: Blocks, id: string, text: string, ms?: number): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'reason' && block.id === id);
  const before = blocks[index];
  if (before?.kind === 'reason') {
    return replaceBlock(blocks, index, { ...before, text: before.text + text, ...(ms !== undefined && { ms }) });
  }
  return appendBlock(blocks, { kind: 'reason', id, text, ...(ms !== undefined && { ms }) });
}

/** Return a person as the field `by` of a block; `{}` if there is no person, or if the person has no name to show. */
function readPerson(by?: Person): { readonly by?: Person } {
  const { username, name } = (by ?? {}) as Partial<Record<keyof Person, unknown>>;
  return typeof username === 'string' && typeof name === 'string' ? { by: { username, name } } : {};
}

/** Add a content to the block of its call, or add a block if the call is new. `by`: who has decided about the call. */
function updateCall(blocksBefore: Blocks, content: ToolContent, by?: Person): Blocks {
  const hasSucceeded = content.type === 'toolCalled' && !content.error;
  const blocks = hasSucceeded ? endWaiting(blocksBefore, content.id) : blocksBefore;
  const index = blocks.findLastIndex(block => block.kind === 'tool' && block.id === content.id);
  const before = blocks[index];
  const waitsFor = findBlockingCall(blocks, content);
  if (before?.kind === 'tool') {
    const updatedCall = { ...before, ...readStage(content, before), ...waitsFor, ...readPerson(by) };
    return replaceBlock(blocks, index, isOpen(updatedCall) ? updatedCall : clearProgress(updatedCall));
  }
  return appendBlock(blocks, {
    kind: 'tool',
    id: content.id,
    name: asString(content.name),
    server: asString(content.server),
    origin: content.origin,
    argumentsText: '',
    outputs: [],
    ...readStage(content),
    ...waitsFor,
    ...readPerson(by)
  });
}

/** If another call must end before this call can run, return its title as `waitsFor`, and its id; `{}` otherwise. */
function findBlockingCall(blocks: Blocks, content: ToolContent): Pick<ToolBlock, 'waitsFor' | 'blockerId'> {
  const id = content.type === 'toolCallRun' ? content.waitsFor : undefined;
  const blocker = blocks.findLast(block => block.kind === 'tool' && block.id === id);
  return blocker?.kind === 'tool' ? { waitsFor: blocker.summary ?? blocker.name, blockerId: blocker.id } : {};
}

/**
 * Return the blocks after the call `id` has ended without an error: no other call waits for it any more. A call that
 * does not run because the call before it has failed still names that one.
 */
function endWaiting(blocks: Blocks, id: string): Blocks {
  return blocks.some(block => block.kind === 'tool' && block.blockerId === id)
    ? blocks.map(block =>
        block.kind === 'tool' && block.blockerId === id
          ? { ...block, waitsFor: undefined, blockerId: undefined }
          : block
      )
    : blocks;
}

/**
 * Return the fields of a tool block that a content sets. The status never goes back to an earlier stage. `before` is
 * the block without this content; undefined when the call is new.
 */
function readStage(content: ToolContent, before?: ToolBlock): Partial<ToolBlock> & Pick<ToolBlock, 'status'> {
  const status = readStatus(content);
  const statusBefore = before?.status ?? 'preparing';
  // The arguments come in pieces, each with the text that follows the last piece.
  const text = content.type === 'toolCallPrepare' ? (before?.argumentsText ?? '') + content.argumentsText : undefined;
  const isAskedAgain = status === 'waiting' && statusBefore === 'ready';
  return {
    status: isAskedAgain || STAGE_RANKS[status] > STAGE_RANKS[statusBefore] ? status : statusBefore,
    ...(content.summary !== undefined && { summary: content.summary }),
    ...(content.details !== undefined && { details: content.details }),
    ...(text !== undefined && { argumentsText: text }),
    ...('arguments' in content && { arguments: content.arguments }),
    ...('cause' in content && { cause: content.cause }),
    // A call that is approved while it still waits for another call gets a second `toolCallRun`, which has no cause.
    // It does not change `asked`.
    ...('cause' in content && content.type === 'toolCallRun' && { asked: content.manualApproval }),
    ...(content.type === 'toolCallRun' && { remembers: content.remembers }),
    ...(content.type === 'toolCalled' && { outputs: content.outputs, ms: content.totalTimeMs }),
    ...(content.type === 'toolCalled' && content.whole !== undefined && { wholeLength: content.whole }),
    ...(content.type === 'toolCallRejected' && { reason: content.reason })
  };
}

/** Return the stage that a call has reached with a content. */
function readStatus(content: ToolContent): ToolStatus {
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

/** Add an image: to the message with which the user has sent it (`byUser`) or, otherwise, as a block of its own. */
function addImage(blocks: Blocks, image: ImageContent, byUser: boolean): Blocks {
  const last = blocks.at(-1);
  if (byUser && last?.kind === 'user') {
    return replaceBlock(blocks, blocks.length - 1, { ...last, images: [...last.images, image] });
  }
  return appendBlock(blocks, { kind: 'image', image });
}

/** Change the block of a hook's run, or add a block if the run is new. */
function updateHook(blocks: Blocks, id: string, fields: { name: string; status?: number; output?: string }): Blocks {
  const index = blocks.findLastIndex(block => block.kind === 'hook' && block.id === id);
  const before = blocks[index];
  return before?.kind === 'hook'
    ? replaceBlock(blocks, index, { ...before, ...fields })
    : appendBlock(blocks, { kind: 'hook', id, output: '', ...fields });
}

/** Return the value if it is a string, otherwise ''. So a wrong message of the server cannot break the view. */
function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
