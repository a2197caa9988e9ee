/**
 * Defines the keys that approve and reject waiting tool calls, and finds the calls that a key decides about. Pure.
 *
 * A key decides only about a call that the user has seen: the call is approved by its id, and only if it has not
 * changed since it was shown. `App.tsx` listens for the keys, and `Approval.tsx` shows them on the buttons.
 */

import * as React from 'react';

import { makeCallKey } from '../../chat/approval_rules';
import { ToolBlock } from '../../chat/blocks';
import { Chat } from '../../chat/state';
import { ChatId } from '../../wire/protocol';

/** The keys as they are shown on the buttons. They are names on keyboards, so they are not translated. */
export const DECISION_KEYS = {
  approve: 'Ctrl+Enter',
  reject: 'Ctrl+Backspace',
  approveAll: 'Ctrl+Shift+Enter'
} as const;

/** What a key does: it approves or rejects a call, or approves all calls. */
export type Decision = keyof typeof DECISION_KEYS;

/** A tool call with the chat that it belongs to: the chat itself, or that of a subagent. */
export interface CallInChat {
  readonly block: ToolBlock;
  readonly chatId: ChatId;
}

/**
 * The key (see `makeCallKey`) of the call that the keyboard decides about when the focus is in no other call; empty
 * when no call waits. Undefined where calls cannot be decided with the keyboard.
 */
export const NextDecision = React.createContext<string | undefined>(undefined);

/** Return a key that only this call has in the page. The id of a call is not enough: two chats may have the same. */
export const getCallKey = ({ block, chatId }: CallInChat): string => makeCallKey(chatId, block.id);

/** Return the calls of the chat and of its subagents. */
export function listCalls(chat: Chat): readonly CallInChat[] {
  const chats = [
    [chat.id, chat.blocks] as const,
    ...Object.entries(chat.subagents ?? {}).map(([id, { blocks }]) => [id, blocks] as const)
  ];
  return chats.flatMap(([chatId, blocks]) =>
    blocks.flatMap(block => (block.kind === 'tool' ? [{ block, chatId }] : []))
  );
}

/** Return the calls that wait for a decision. */
export function listWaitingCalls(chat: Chat): readonly CallInChat[] {
  return listCalls(chat).filter(({ block }) => block.status === 'waiting');
}

/** Return the calls of `shown` that still wait and have not changed since they were shown. Newer calls are left out. */
export function selectUnchangedCalls(shown: readonly CallInChat[], chat: Chat): readonly CallInChat[] {
  const waitingNow = listWaitingCalls(chat);
  return shown.filter(({ block, chatId }) =>
    waitingNow.some(
      other =>
        other.chatId === chatId &&
        other.block.id === block.id &&
        other.block.name === block.name &&
        other.block.arguments === block.arguments &&
        other.block.details === block.details
    )
  );
}

/** The parts of a keyboard event that decide what it means. */
export interface PressedKey {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
  /** Whether the user holds the key down, so that the browser repeats its event. */
  readonly repeat: boolean;
  /** The field that has the focus. */
  readonly field: FocusedField;
}

/**
 * The kind of the field that has the focus. `none`: no field has it. `text`: any field except an empty prompt box. In
 * such a field, keys edit the text and decide nothing.
 */
export type FocusedField = 'none' | 'empty prompt' | 'text';

/** Return what a key decides; undefined when it decides nothing. A key that is held down decides only once. */
export function readDecisionKey(pressed: PressedKey): Decision | undefined {
  const { key, ctrlKey, metaKey, shiftKey, altKey, repeat, field } = pressed;
  if (!(ctrlKey || metaKey) || altKey || repeat || field === 'text') {
    return undefined;
  }
  if (key === 'Enter') {
    return shiftKey ? 'approveAll' : 'approve';
  }
  // In the prompt box this key deletes words. A user who presses it once more than needed must not reject a call.
  return key === 'Backspace' && !shiftKey && field === 'none' ? 'reject' : undefined;
}

/** Return the kind of the field that an element is. */
export function getFieldKind(target: EventTarget): FocusedField {
  if (target instanceof HTMLTextAreaElement) {
    return target.value === '' && target.getAttribute('role') === 'combobox' ? 'empty prompt' : 'text';
  }
  const isField =
    target instanceof HTMLInputElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable);
  return isField ? 'text' : 'none';
}
