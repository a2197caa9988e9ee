/**
 * Finds the trigger of a completion at the cursor of the prompt box: `@`, `/` or `#` and the word after it. Pure.
 *
 * This module knows no server: `chat/suggestions.ts` asks the server for suggestions.
 */

/** The sign of a trigger. `@` begins a context, `/` a command, `#` a path. */
export type TriggerKind = '@' | '/' | '#';

/** A trigger. For example, in `see @cel` the trigger has the kind `@`, the start 4 and the query `cel`. */
export interface Trigger {
  readonly kind: TriggerKind;
  /** The offset of the sign. */
  readonly start: number;
  /** The text between the sign and the cursor. */
  readonly query: string;
}

/**
 * Return the trigger at the cursor; undefined when there is none. `/` counts only at the beginning of the text, `@` and
 * `#` where a word begins.
 */
export function findTrigger(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor);
  const match = /(?:^|\s)([@#])([^\s@#]*)$/.exec(before) ?? /^(\/)(\S*)$/.exec(before);
  const query = match?.[2] ?? '';
  return match === null ? undefined : { kind: match[1] as TriggerKind, start: cursor - query.length - 1, query };
}

/**
 * Return the mention that the user has completed by typing a space after it, for example `@data.csv`. Undefined when
 * the user has typed something else. `before` and `now` are the texts before and after the last input. `trigger` was at
 * the cursor in `before`.
 */
export function findTypedMention(before: string, now: string, trigger: Trigger | undefined): string | undefined {
  if (trigger?.kind !== '@') {
    return undefined;
  }
  const end = trigger.start + trigger.query.length + 1;
  const isTyped =
    now.startsWith(before.slice(0, end)) && /^\s/.test(now.slice(end)) && now.length === before.length + 1;
  return isTyped ? before.slice(trigger.start, end) : undefined;
}
