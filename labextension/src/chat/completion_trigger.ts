/**
 * Finds the trigger of a completion at the cursor of the prompt box: `@`, `/` or `#` and the word after it. Pure.
 *
 * This module knows no server: `suggestions.ts` asks the server for suggestions.
 */

/** `@` begins a context, `/` a command, `#` a path. */
export type TriggerKind = '@' | '/' | '#';

export interface Trigger {
  readonly kind: TriggerKind;
  /** The offset of the sign. */
  readonly start: number;
  /** The text between the sign and the cursor. */
  readonly query: string;
}

/** Return the trigger at the cursor. `/` counts only at the beginning of the text, `@` and `#` where a word begins. */
export function findTrigger(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor);
  const found = /(?:^|\s)([@#])([^\s@#]*)$/.exec(before) ?? /^(\/)(\S*)$/.exec(before);
  const query = found?.[2] ?? '';
  return found === null ? undefined : { kind: found[1] as TriggerKind, start: cursor - query.length - 1, query };
}

/** Return the text in which `by` replaces the trigger and its query, and the new offset of the cursor. */
export function replaceTrigger(text: string, { start, query }: Trigger, by: string): readonly [string, number] {
  return [text.slice(0, start) + by + text.slice(start + query.length + 1), start + by.length];
}
