/**
 * Lists what is to be decided in a notebook, cell by cell: calls that wait for approval, and changes made. Pure.
 *
 * Knows no editor: `controller.ts` shows the notes.
 */

import { Blocks } from '../chat/blocks';
import type { Change } from '../chat/types';
import { ChatId, FileChangeDetails } from '../wire/protocol';
import { Chat } from '../chat/state';

type CellChanged = Extract<Change, { readonly type: 'cell' }>;

/** What is decided: a waiting call, or changes that were made. */
export type Owner =
  | {
      readonly kind: 'call';
      readonly chatId: ChatId;
      readonly id: string;
      /** What the page loads as soon as it shows the changed cells, in words. */
      readonly loads?: string | undefined;
    }
  | { readonly kind: 'changes'; readonly chatId: ChatId; readonly changes: readonly Change[] };

/** What would happen, or happened, to a cell. */
export type NoteContent =
  /** The source was `base` when it was compared with `other`. */
  | { readonly what: 'edit'; readonly base: string; readonly other: string }
  | { readonly what: 'insert' | 'delete'; readonly source?: string }
  /** The places count from 1. */
  | { readonly what: 'move'; readonly from: number; readonly to: number };

export type Note = NoteContent & {
  readonly key: string;
  readonly owner: Owner;
  /** The id of the cell in which the note is shown. */
  readonly anchor: string;
  /** Whether the note is about a cell that would stand, or stood, below the anchor. */
  readonly below: boolean;
};

interface CellSource {
  readonly id: string;
  readonly source: string;
}

export function listNotes(path: string, cells: readonly CellSource[], chats: readonly Chat[]): readonly Note[] {
  return cells.length === 0
    ? []
    : chats.flatMap(chat => [...listProposals(path, cells, chat), ...listMade(path, cells, chat)]);
}

/**
 * List the proposals of waiting calls. Of several calls about one cell only the first: the others build on its result.
 */
function listProposals(path: string, cells: readonly CellSource[], chat: Chat): readonly Note[] {
  const taken = new Set<string>();
  return listWaiting(chat).flatMap(({ chatId, id, details }) =>
    details.path !== path
      ? []
      : (details.cells ?? []).flatMap((change, n) => {
          const note = placeProposal(cells, change);
          if (note === undefined || taken.has(note.anchor)) {
            return [];
          }
          if (note.what !== 'insert') {
            taken.add(note.anchor);
          }
          const owner = { kind: 'call' as const, chatId, id, loads: details.loads };
          return [{ ...note, key: `call ${id} ${String(n)}`, owner }];
        })
  );
}

interface WaitingCall {
  readonly chatId: ChatId;
  readonly id: string;
  readonly details: FileChangeDetails;
}

function listWaiting({ id, status, blocks, agents }: Chat): readonly WaitingCall[] {
  return status === 'idle'
    ? []
    : [
        ...listWaitingIn(id, blocks),
        ...Object.entries(agents ?? {}).flatMap(([agent, part]) => listWaitingIn(agent, part.blocks))
      ];
}

function listWaitingIn(chatId: ChatId, blocks: Blocks): readonly WaitingCall[] {
  return blocks.flatMap(block =>
    block.kind === 'tool' && block.status === 'waiting' && block.details?.type === 'fileChange'
      ? [{ chatId, id: block.id, details: block.details }]
      : []
  );
}

type PlacedNote = NoteContent & Pick<Note, 'anchor' | 'below'>;

function placeProposal(
  cells: readonly CellSource[],
  change: NonNullable<FileChangeDetails['cells']>[number]
): PlacedNote | undefined {
  const index = 'cellId' in change ? cells.findIndex(({ id }) => id === change.cellId) : -1;
  const there = { anchor: cells[index]?.id ?? '', below: false };
  switch (change.kind) {
    case 'edit':
      return index < 0 ? undefined : { ...there, what: 'edit', base: change.was, other: change.source };
    case 'delete':
      return index < 0 ? undefined : { ...there, what: 'delete' };
    case 'move':
      return index < 0 ? undefined : { ...there, what: 'move', from: index + 1, to: change.index + 1 };
    case 'insert': {
      // It is approved for this place: directly behind a cell, wherever that is by now.
      const { after } = change;
      const behind = after === undefined || after === '' ? undefined : cells.findIndex(({ id }) => id === after);
      const place = placeMissingCell(cells, behind === undefined ? change.index : behind + 1);
      return behind === -1 ? undefined : { ...place, what: 'insert', source: change.cell.source };
    }
    case 'put':
      return undefined;
  }
}

/** Return where a cell that does not exist would stand, or stood. */
function placeMissingCell(cells: readonly CellSource[], index: number): Pick<Note, 'anchor' | 'below'> {
  const next = cells[index];
  return { anchor: (next ?? cells.at(-1))?.id ?? '', below: next === undefined };
}

function listMade(path: string, cells: readonly CellSource[], { id: chatId, changes = [] }: Chat): readonly Note[] {
  const byCell = new Map<string, CellChanged[]>();
  for (const change of changes) {
    if (change.type === 'cell' && change.path === path) {
      byCell.set(change.cellId, [...(byCell.get(change.cellId) ?? []), change]);
    }
  }
  return [...byCell].flatMap(([cellId, all]) => {
    const chain = takeChain(all);
    const note = placeMade(cells, cellId, chain);
    const key = `changes ${String(chatId)} ${chain.map(({ id }) => id).join(' ')}`;
    return note === undefined ? [] : [{ ...note, key, owner: { kind: 'changes' as const, chatId, changes: chain } }];
  });
}

/** Return the last changes of a cell, as far back as each begins with the text that the one before it left. */
function takeChain(all: readonly CellChanged[]): readonly CellChanged[] {
  const apart = all.findLastIndex((one, n) => n > 0 && one.text?.before !== all[n - 1]?.text?.after);
  return all.slice(Math.max(apart, 0));
}

function placeMade(
  cells: readonly CellSource[],
  cellId: string,
  chain: readonly CellChanged[]
): PlacedNote | undefined {
  const [first, last] = [chain[0], chain.at(-1)];
  const index = cells.findIndex(({ id }) => id === cellId);
  if (first?.text === undefined || last?.text === undefined) {
    return undefined;
  }
  const { before } = first.text;
  const { after } = last.text;
  if (index < 0) {
    return before === undefined || after !== undefined
      ? undefined
      : { ...placeMissingCell(cells, (first.placeBefore ?? cells.length + 1) - 1), what: 'delete', source: before };
  }
  const there = { anchor: cellId, below: false };
  if (before === undefined || after === undefined) {
    return before === undefined ? { ...there, what: 'insert' } : undefined;
  }
  if (before !== after) {
    return { ...there, what: 'edit', base: last.left ?? after, other: before };
  }
  const { placeBefore: from } = first;
  return from === undefined ? undefined : { ...there, what: 'move', from, to: index + 1 };
}
