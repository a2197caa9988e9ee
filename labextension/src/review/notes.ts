/**
 * Lists the decisions that wait for the user in a notebook, as notes at its cells. A note is about a call that waits
 * for approval, or about changes that were made. Pure.
 *
 * This module knows no editor: `controller.ts` shows the notes.
 */

import { Blocks, isPartOf } from '../chat/blocks';
import type { Change } from '../chat/types';
import { ChangePart, ChatId, FileChangeDetails } from '../wire/protocol';
import { Chat } from '../chat/state';

/** A change that the assistant has made to a cell. */
type CellChange = Extract<Change, { readonly type: 'cell' }>;

/** A part of the edit of a cell. `index` is its place among the parts of the whole call. */
export type CellPart = ChangePart & { readonly index: number };

/** The owner of a note, about which the user decides: a waiting call, or changes that were made. */
export type Owner =
  | {
      readonly kind: 'call';
      readonly chatId: ChatId;
      /** The id of the call. */
      readonly id: string;
      /** What the page would load as soon as it shows the changed cells, in words; undefined for nothing. */
      readonly loads?: string | undefined;
      /** The parts of the edit of this cell, each of which can be left out; undefined for a change without parts. */
      readonly parts?: readonly CellPart[] | undefined;
      /**
       * The index of the part that moves this cell; undefined if the note is no move, or the move cannot be left out.
       */
      readonly movePart?: number | undefined;
      /** The indexes of the parts that the user leaves out of the whole call. */
      readonly leftOut: readonly number[];
      /**
       * How many changes of cells the call makes. If a call makes several changes or runs cells, the bar at a cell
       * shows only a part of it. So the call is approved in its card in the chat.
       */
      readonly changeCount: number;
      /** Whether the call also runs cells. */
      readonly runsCells: boolean;
    }
  | {
      readonly kind: 'changes';
      readonly chatId: ChatId;
      /** The changes of one cell, in the order in which they were made: see `findLastChain`. */
      readonly changes: readonly Change[];
      /** Whether no decision is needed, for example because all changes were approved before they were made. */
      readonly isSettled: boolean;
    };

/** The change that would be made to a cell, or was made to it. */
export type NoteContent =
  /**
   * `base` is the source of the cell that was compared with `otherText`. For a proposed change, `otherText` is the new
   * text. For a change that was made, it is the old text.
   */
  | { readonly kind: 'edit'; readonly base: string; readonly otherText: string }
  /** `source` is the source of the cell, if the cell is not in the notebook. */
  | { readonly kind: 'insert' | 'delete'; readonly source?: string }
  /** The places count from 1. */
  | { readonly kind: 'move'; readonly from: number; readonly to: number };

/** The waiting call that a note is about. */
export type CallOwner = Extract<Owner, { readonly kind: 'call' }>;

/** A note: one change of one cell, with its owner and the place where it is shown. */
export type Note = NoteContent & {
  /** Identifies the note. It stays the same as long as the call or the changes stay the same. */
  readonly key: string;
  /** The call or the changes about which the user decides. */
  readonly owner: Owner;
  /** The id of the cell in which the note is shown. */
  readonly anchorId: string;
  /** Whether the note is about a cell that would be inserted, or was deleted, below the cell `anchorId`. */
  readonly isBelowAnchor: boolean;
};

/** A cell of the notebook, as it is now. */
interface CellSource {
  readonly id: string;
  readonly source: string;
}

/** List the notes of the notebook at `path`. For each chat, proposals come before changes that were made. */
export function listNotes(path: string, cells: readonly CellSource[], chats: readonly Chat[]): readonly Note[] {
  return cells.length === 0
    ? []
    : chats.flatMap(chat => [...listProposals(path, cells, chat), ...listMadeChanges(path, cells, chat)]);
}

/**
 * List the proposals of waiting calls. If several calls are about the same cell, list only the first, because the
 * others depend on its result. A call that edits and moves the same cell has two notes. Several insertions at the same
 * place are all listed.
 */
function listProposals(path: string, cells: readonly CellSource[], chat: Chat): readonly Note[] {
  // The notes by the ids of their cells.
  const notesByCell = new Map<string, CellNotes>();
  return listWaitingChanges(chat).flatMap(({ chatId, id, details, leftOut }) =>
    details.path !== path
      ? []
      : (details.cells ?? []).flatMap((change, index) => {
          const note = createProposalNote(cells, findFinalVersion(details, change));
          if (note === undefined || !canAddNote(id, note.kind, notesByCell.get(note.anchorId))) {
            return [];
          }
          if (note.kind !== 'insert') {
            notesByCell.set(note.anchorId, {
              call: id,
              kinds: [...(notesByCell.get(note.anchorId)?.kinds ?? []), note.kind]
            });
          }
          const owner = {
            kind: 'call' as const,
            chatId,
            id,
            loads: details.loads,
            parts: listParts(details, change),
            movePart: findMovePart(details, change),
            leftOut,
            changeCount: details.cells?.length ?? 0,
            runsCells: (details.runs ?? []).length > 0
          };
          return [{ ...note, key: `call ${id} ${String(index)}`, owner }];
        })
  );
}

/** A change of a cell in the details of a waiting call. */
type ProposedChange = NonNullable<FileChangeDetails['cells']>[number];

/** The call and the kinds of the notes that a cell has so far. All of them belong to one call. */
interface CellNotes {
  /** The id of the call. */
  readonly call: string;
  /** The kind of each note. */
  readonly kinds: readonly NoteContent['kind'][];
}

/** Whether a cell can get one more note: it has none, or the same call both edits and moves the cell. */
function canAddNote(call: string, kind: NoteContent['kind'], others: CellNotes | undefined): boolean {
  const isEditOrMove = (other: string): boolean => other === 'edit' || other === 'move';
  return (
    others === undefined ||
    (others.call === call && !others.kinds.includes(kind) && [kind, ...others.kinds].every(isEditOrMove))
  );
}

/** Return the parts of an edit; undefined when there are none. */
function listParts({ parts = [] }: FileChangeDetails, change: ProposedChange): readonly CellPart[] | undefined {
  const ownParts = parts.flatMap((part, index) =>
    'kind' in part || !isPartOf(part, change) ? [] : [{ ...part, index }]
  );
  return ownParts.length === 0 ? undefined : ownParts;
}

/** Return the index of the part that is the move of a cell; undefined when there is none. */
function findMovePart({ parts = [] }: FileChangeDetails, change: ProposedChange): number | undefined {
  const index = change.kind === 'move' ? parts.findIndex(part => isPartOf(part, change)) : -1;
  return index < 0 ? undefined : index;
}

/**
 * Return the change as it will be when the whole call has run. An edit gets the source that its cell has after all
 * edits of the call, and a move the place that its cell has after all moves. Any other change is returned unchanged.
 */
function findFinalVersion({ cells = [] }: FileChangeDetails, change: ProposedChange): ProposedChange {
  switch (change.kind) {
    case 'edit': {
      const last = cells.findLast(other => other.kind === 'edit' && other.cellId === change.cellId);
      return last?.kind === 'edit' ? { ...change, source: last.source } : change;
    }
    case 'move':
      return cells.findLast(other => other.kind === 'move' && other.cellId === change.cellId) ?? change;
    default:
      return change;
  }
}

/** A tool call that waits for approval, and that changes files or cells. */
interface WaitingCall {
  readonly chatId: ChatId;
  /** The id of the call. */
  readonly id: string;
  /** What the call would change. */
  readonly details: FileChangeDetails;
  /** The indexes of the parts that the user leaves out. */
  readonly leftOut: readonly number[];
}

/** An empty list. It is always the same object, so that a comparison finds no change. */
const NO_PARTS: readonly number[] = [];

/** List the waiting calls of a chat and of its subagents that change files or cells. */
function listWaitingChanges({ id, status, blocks, subagents }: Chat): readonly WaitingCall[] {
  return status === 'idle'
    ? []
    : [
        ...listWaitingChangesIn(id, blocks),
        ...Object.entries(subagents ?? {}).flatMap(([subagentId, { blocks }]) =>
          listWaitingChangesIn(subagentId, blocks)
        )
      ];
}

/** List the waiting calls in the transcript of one chat. */
function listWaitingChangesIn(chatId: ChatId, blocks: Blocks): readonly WaitingCall[] {
  return blocks.flatMap(block =>
    block.kind === 'tool' && block.status === 'waiting' && block.details?.type === 'fileChange'
      ? [{ chatId, id: block.id, details: block.details, leftOut: block.leftOut ?? NO_PARTS }]
      : []
  );
}

/** The content and the place of a note, without its key and its owner. */
type PlacedNote = NoteContent & Pick<Note, 'anchorId' | 'isBelowAnchor'>;

/** Return the note for a proposed change. Undefined when its cell is gone, and for `put`, which restores a cell. */
function createProposalNote(cells: readonly CellSource[], change: ProposedChange): PlacedNote | undefined {
  const index = 'cellId' in change ? cells.findIndex(({ id }) => id === change.cellId) : -1;
  const existing = { anchorId: cells[index]?.id ?? '', isBelowAnchor: false };
  switch (change.kind) {
    case 'edit':
      return index < 0 ? undefined : { ...existing, kind: 'edit', base: change.was, otherText: change.source };
    case 'delete':
      return index < 0 ? undefined : { ...existing, kind: 'delete' };
    case 'move':
      return index < 0 ? undefined : { ...existing, kind: 'move', from: index + 1, to: change.index + 1 };
    case 'insert': {
      // The user approves an insertion directly after the cell with the id `after`, even if that cell has moved. An
      // empty id is the top of the notebook, where the index is 0.
      const { after } = change;
      const isAtIndex = after === undefined || after === '';
      const cellBefore = isAtIndex ? change.index - 1 : cells.findIndex(({ id }) => id === after);
      const place = placeMissingCell(cells, cellBefore + 1);
      return cellBefore < 0 && !isAtIndex ? undefined : { ...place, kind: 'insert', source: change.cell.source };
    }
    case 'put':
      return undefined;
  }
}

/** Return the place of a cell that is to be inserted or was deleted: above the cell at `index`, or below the last. */
function placeMissingCell(cells: readonly CellSource[], index: number): Pick<Note, 'anchorId' | 'isBelowAnchor'> {
  const next = cells[index];
  return { anchorId: (next ?? cells.at(-1))?.id ?? '', isBelowAnchor: next === undefined };
}

/** List one note for each cell that the chat has changed, about all of its changes to the cell. */
function listMadeChanges(
  path: string,
  cells: readonly CellSource[],
  { id: chatId, changes = [] }: Chat
): readonly Note[] {
  const byCell = new Map<string, CellChange[]>();
  for (const change of changes) {
    if (change.type === 'cell' && change.path === path) {
      byCell.set(change.cellId, [...(byCell.get(change.cellId) ?? []), change]);
    }
  }
  return [...byCell].flatMap(([cellId, cellChanges]) => {
    const chain = findLastChain(cellChanges);
    const note = createChangeNote(cells, cellId, chain);
    const key = `changes ${String(chatId)} ${chain.map(({ id }) => id).join(' ')}`;
    const isSettled = chain.every(change => change.settled === true);
    return note === undefined
      ? []
      : [{ ...note, key, owner: { kind: 'changes' as const, chatId, changes: chain, isSettled } }];
  });
}

/**
 * Return the last changes of a cell that form a chain: each begins with the text that the change before it has left.
 * If somebody else changed the cell in between, the chain begins after that.
 */
function findLastChain(changes: readonly CellChange[]): readonly CellChange[] {
  const start = changes.findLastIndex(
    (change, index) => index > 0 && change.text?.before !== changes[index - 1]?.text?.after
  );
  return changes.slice(Math.max(start, 0));
}

/**
 * Return the note for a chain of changes that were made to a cell: from the text before the first change to the text
 * after the last. Undefined when there is nothing to show.
 */
function createChangeNote(
  cells: readonly CellSource[],
  cellId: string,
  chain: readonly CellChange[]
): PlacedNote | undefined {
  const [first, last] = [chain[0], chain.at(-1)];
  const index = cells.findIndex(({ id }) => id === cellId);
  if (first?.text === undefined || last?.text === undefined) {
    return undefined;
  }
  const { before } = first.text;
  const { after } = last.text;
  if (index < 0) {
    // The cell is gone. A note is shown if the assistant has deleted the cell, but not if the assistant had inserted it
    // before. `placeBefore` is the number that the cell had, from 1.
    return before === undefined || after !== undefined
      ? undefined
      : { ...placeMissingCell(cells, (first.placeBefore ?? cells.length + 1) - 1), kind: 'delete', source: before };
  }
  const place = { anchorId: cellId, isBelowAnchor: false };
  if (before === undefined || after === undefined) {
    // A cell that the assistant deleted, and that is in the notebook again, needs no note.
    return before === undefined ? { ...place, kind: 'insert' } : undefined;
  }
  if (before !== after) {
    // `left` is the text that the assistant left, if somebody has edited the cell since.
    return { ...place, kind: 'edit', base: last.left ?? after, otherText: before };
  }
  const { placeBefore: from } = first;
  return from === undefined ? undefined : { ...place, kind: 'move', from, to: index + 1 };
}
