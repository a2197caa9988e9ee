/**
 * Finds the people of a chat: those who sent messages in it, and those who approved or rejected its tool calls.
 *
 * A server that several people use adds a `Person` to its events. As long as only one person has used the chat, the
 * views show no names. `App.tsx` passes the names to the views with the React context `ChatPeople`.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Transcript } from '../../chat/transcript';
import { toExactText } from '../../render/format';
import { Person } from '../../wire/protocol';

/** The names of the people in a chat that was not used by the user alone. */
export interface People {
  /** The username of the user; undefined if it is not known. */
  readonly viewer: string | undefined;
  /** The name of each person, by their username. No two people have the same name here. */
  readonly names: ReadonlyMap<string, string>;
}

/**
 * Return the people of a chat. Return undefined when names are not needed: only the user has used the chat or, if it is
 * not known who the user is, only one person has. `viewer` is the user of this page.
 */
export function findPeople(chat: Transcript, viewer: Person | undefined): People | undefined {
  const people = new Map<string, string>();
  collectPeople(chat, people);
  const others = [...people.keys()].filter(username => username !== viewer?.username);
  if (others.length < (viewer === undefined ? 2 : 1)) {
    return undefined;
  }
  if (viewer !== undefined) {
    people.set(viewer.username, viewer.name);
  }
  /** How many people have each name. */
  const nameCounts = new Map<string, number>();
  for (const name of people.values()) {
    nameCounts.set(name, (nameCounts.get(name) ?? 0) + 1);
  }
  // Anybody may choose a name that somebody else has. So such a name is followed by the username.
  const names = [...people].map(
    ([username, name]) =>
      [username, name === username || nameCounts.get(name) === 1 ? name : `${name} (${username})`] as const
  );
  return { viewer: viewer?.username, names: new Map(names) };
}

/** Whether two results of `findPeople` name the same people. Then a view need not be drawn again. */
export function hasSameNames(first: People | undefined, second: People | undefined): boolean {
  const toJson = (people?: People): string => JSON.stringify(people && [people.viewer ?? null, ...people.names]);
  return toJson(first) === toJson(second);
}

/** Add the people of a transcript and of its subagents to `people`. The newest name of a person replaces older ones. */
function collectPeople({ blocks, subagents = {} }: Transcript, people: Map<string, string>): void {
  for (const block of blocks) {
    if ((block.kind === 'user' || block.kind === 'tool') && block.by !== undefined) {
      people.set(block.by.username, block.by.name);
    }
  }
  for (const agent of Object.values(subagents)) {
    collectPeople(agent, people);
  }
}

/** The React context with the names; undefined where no names are shown. */
export const ChatPeople = React.createContext<People | undefined>(undefined);

/**
 * Return the people of a chat, as `findPeople` does; undefined where no names are shown. The result is the same object
 * until a name in it changes, so that the views are not drawn again for nothing.
 */
export function usePeople(chat: Transcript, viewer: Person | undefined): People | undefined {
  const last = React.useRef<People>();
  const people = React.useMemo(() => findPeople(chat, viewer), [chat, viewer]);
  if (!hasSameNames(last.current, people)) {
    last.current = people;
  }
  return last.current;
}

/** Return the name of somebody who is not the user, as text that hides no character. */
export function formatName({ names }: People, { username, name }: Person): string {
  return toExactText(names.get(username) ?? name);
}

/** Return the name of the sender of a message (`by`); undefined where no names are shown, or when `by` is undefined. */
export function describeSender(
  people: People | undefined,
  by: Person | undefined,
  trans: TranslationBundle
): string | undefined {
  if (people === undefined || by === undefined) {
    return undefined;
  }
  return by.username === people.viewer ? trans.__('You') : formatName(people, by);
}
