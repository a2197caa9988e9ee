/**
 * Finds what is being completed at the cursor of the prompt box: `@`, `/` or `#` and the word after it. Pure.
 *
 * Knows no server: `suggestions.ts` asks for what fits.
 */

/** `@` something to send along, `/` a command, `#` a path. */
export type TriggerKind = '@' | '/' | '#';

/** `start` is where the sign stands, `query` what follows it up to the cursor. */
export interface Trigger {
  readonly kind: TriggerKind;
  readonly start: number;
  readonly query: string;
}

/** A command only at the very beginning; the others at the beginning of a word. */
export function findTrigger(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor);
  const found = /(?:^|\s)([@#])([^\s@#]*)$/.exec(before) ?? /^(\/)(\S*)$/.exec(before);
  const query = found?.[2] ?? '';
  return found === null ? undefined : { kind: found[1] as TriggerKind, start: cursor - query.length - 1, query };
}

/** The text with something in place of what was typed, and where the cursor is then. */
export function replaceTrigger(text: string, { start, query }: Trigger, by: string): readonly [string, number] {
  return [text.slice(0, start) + by + text.slice(start + query.length + 1), start + by.length];
}
