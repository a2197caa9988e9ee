/** Who is named in a chat. */

import { expect, test } from 'vitest';

import { findPeople, hasSameNames } from '../../src/view/common/people';
import { EMPTY_TRANSCRIPT, Transcript } from '../../src/chat/transcript';
import { Person } from '../../src/wire/protocol';

const ADA: Person = { username: 'ada', name: 'Ada' };
const BEN: Person = { username: 'ben', name: 'Ben' };

/** A chat in which these people have asked one after the other; undefined for somebody who is not known. */
function chat(...people: (Person | undefined)[]): Transcript {
  const blocks = people.map((by, n) => ({
    kind: 'user' as const,
    key: `b${String(n)}`,
    text: 'x',
    images: [],
    ...(by !== undefined && { by })
  }));
  return { ...EMPTY_TRANSCRIPT, blocks };
}

/** The names by the usernames; undefined when nobody is named. */
function names(shown: Transcript, viewer?: Person): unknown {
  const people = findPeople(shown, viewer);
  return people && Object.fromEntries(people.names);
}

test('nobody is named where only the viewer was, or nobody is known', () => {
  expect(names(chat(), ADA)).toBeUndefined();
  expect(names(chat(undefined, undefined), ADA)).toBeUndefined();
  expect(names(chat(ADA, ADA, undefined), ADA)).toBeUndefined();
  expect(names(chat(undefined))).toBeUndefined();
});

test('one person who is somebody else is named, unless the viewer is not known', () => {
  expect(names(chat(BEN), ADA)).toEqual({ ada: 'Ada', ben: 'Ben' });
  expect(names(chat(ADA, undefined))).toBeUndefined();
  expect(names(chat(ADA, BEN))).toEqual({ ada: 'Ada', ben: 'Ben' });
});

test('two people with one name are told apart, also when it is the name of the viewer', () => {
  const other = { username: 'mallory', name: 'Ada' };
  expect(names(chat(other), ADA)).toEqual({ ada: 'Ada (ada)', mallory: 'Ada (mallory)' });
});

test('who decided about a call of a subagent counts', () => {
  const call = {
    kind: 'tool',
    key: 'b0',
    id: 't',
    name: 'x',
    server: 'ECA',
    origin: 'native',
    status: 'done',
    argumentsText: '',
    outputs: [],
    by: BEN
  } as const;
  const shown = { ...chat(ADA), subagents: { s: { ...EMPTY_TRANSCRIPT, blocks: [call] } } };
  expect(names(shown, ADA)).toEqual({ ada: 'Ada', ben: 'Ben' });
});

test('the same people are recognised, and a new one is not the same', () => {
  const two = findPeople(chat(ADA, BEN), ADA);
  expect(hasSameNames(two, findPeople(chat(ADA, BEN, BEN), ADA))).toBe(true);
  expect(hasSameNames(two, findPeople(chat(ADA, BEN, { username: 'cy', name: 'Cy' }), ADA))).toBe(false);
  expect(hasSameNames(two, undefined)).toBe(false);
  expect(hasSameNames(undefined, undefined)).toBe(true);
});
