/**
 * Finds mentions in messages. A mention is a word that refers to a context (something that is sent with the message),
 * for example `@cell:3`. Pure.
 *
 * A message is plain text, so that it can be copied, undone, stored and read by the model. A mention is found in the
 * text by its word: this module chooses the word of a context, and finds the words of known contexts in a text. Known
 * contexts (`known`) are those that the text may mention. The prompt box and the transcript draw mentions as
 * chips. `caret.ts` decides where the caret may be.
 *
 * `list_named` in `jupyter_eca/plugins/contexts/resolve.py` finds the same words on the server.
 */

import { baseName } from '../render/format';
import { ChatContext } from '../wire/protocol';

/** A mention in a text: the characters from the offset `start` up to, but not including, `end`. */
export interface Mention {
  readonly start: number;
  readonly end: number;
  readonly context: ChatContext;
}

/** A part of a text: a mention, or the text between mentions. */
export interface TextPart {
  readonly text: string;
  /** The context of the mention; undefined for the text between mentions. */
  readonly context?: ChatContext;
}

/** Matches the end of a text after which a mention may begin: a space, a bracket or a quote. */
const BEFORE_MENTION = /[\s([{<"']$/;
/** Matches the beginning of a text that would continue the word of a mention: `@cell:34` does not mention `@cell:3`. */
const CONTINUES_WORD = /^(?:[\p{L}\p{N}_]|[-./:\\@#]+[\p{L}\p{N}_])/u;

/**
 * Return the word that refers to a context in a message, with its sign `@`. Undefined when there is none, or when the
 * word refers to another known context already, such as the cell with the same number in another notebook.
 */
export function chooseWord(context: ChatContext, known: readonly ChatContext[]): string | undefined {
  const key = createContextKey(context);
  const takenWords = new Set(known.filter(other => createContextKey(other) !== key).flatMap(listWords));
  return listWords(context).find(word => !takenWords.has(word));
}

/** Return the mentions of known contexts in a text, in the order of the text. */
export function findMentions(text: string, known: readonly ChatContext[]): readonly Mention[] {
  const words = known.flatMap(context => listWords(context).map(word => ({ word, context })));
  // A word may begin with another one, for example `@var:x` and `@var:x.y`.
  words.sort((left, right) => right.word.length - left.word.length);
  const mentions: Mention[] = [];
  for (let start = text.indexOf('@'); start !== -1; start = text.indexOf('@', start + 1)) {
    const longestWord = words.find(
      ({ word }) =>
        text.startsWith(word, start) &&
        (start === 0 || BEFORE_MENTION.test(text.slice(0, start))) &&
        !CONTINUES_WORD.test(text.slice(start + word.length))
    );
    if (longestWord !== undefined) {
      const end = start + longestWord.word.length;
      mentions.push({ start, end, context: longestWord.context });
      start = end - 1;
    }
  }
  return mentions;
}

/** Return the contexts that the text mentions, each once and in the order of `known`. */
export function pickMentioned(text: string, known: readonly ChatContext[]): readonly ChatContext[] {
  const mentioned = new Set(findMentions(text, known).map(({ context }) => createContextKey(context)));
  return known.filter(context => mentioned.has(createContextKey(context)));
}

/** Cut a text into its mentions and the texts between them. */
export function cutText(text: string, mentions: readonly Mention[]): readonly TextPart[] {
  const parts: TextPart[] = [];
  let position = 0;
  for (const { start, end, context } of mentions) {
    parts.push({ text: text.slice(position, start) }, { text: text.slice(start, end), context });
    position = end;
  }
  return [...parts, { text: text.slice(position) }].filter(part => part.text !== '');
}

/** Return the contexts with others added. None of them is in the list twice. */
export function addContexts(contexts: readonly ChatContext[], added: readonly ChatContext[]): readonly ChatContext[] {
  const keys = new Set(contexts.map(createContextKey));
  const newContexts = added.filter(context => !keys.has(createContextKey(context)));
  return newContexts.length === 0 ? contexts : [...contexts, ...newContexts];
}

/**
 * Return the label and the detail of a context, for a chip and for a list. The kinds of context have their names in
 * different fields, which are tried one after the other.
 */
export function describeContext(context: ChatContext): { readonly label: string; readonly detail: string } {
  const text = (name: string): string => readField(context, name);
  const path = text('path');
  const label = text('label') || text('name') || baseName(path) || text('url') || text('uri') || context.type;
  return { label, detail: text('description') || path || text('uri') || text('url') };
}

/**
 * Return the name of a mention for screen readers and tooltips: its word, and the path or description of its context.
 */
export function nameMention(word: string, context: ChatContext): string {
  const { detail } = describeContext(context);
  return detail === '' || word.includes(detail) ? word : `${word}: ${detail}`;
}

/** The keys of contexts. They are kept, because an image has megabytes, and keys are compared at each letter. */
const KEYS = new WeakMap<ChatContext, string>();

/** Return a key that is equal for contexts that mean the same thing. Their descriptions may differ. */
export function createContextKey(context: ChatContext): string {
  const key = KEYS.get(context) ?? JSON.stringify({ ...context, description: undefined });
  KEYS.set(context, key);
  return key;
}

/** Return the words that may refer to a context, the shortest first. */
function listWords(context: ChatContext): readonly string[] {
  const read = (name: string): string => readField(context, name);
  switch (context.type) {
    case 'file':
    case 'directory':
      return listPathEnds(read('path')).map(path => quote(path + formatLines(context)));
    case 'web':
      return listQuoted(read('url'));
    case 'mcpResource':
      return listQuoted(read('uri') && `${read('server')}:${read('uri')}`);
    case 'repoMap':
      return listQuoted(context.type);
    case 'cell':
    case 'output':
    case 'notebook':
    case 'selection':
    case 'error':
    case 'variable':
    case 'table':
      return listQuoted(read('label'));
    default:
      return [];
  }
}

/** Return a text of a context; empty when it has none. The kinds of context have different fields. */
export function readField(context: ChatContext, name: string): string {
  const value = (context as unknown as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** Return the ends of a path, from its last name to the whole path. */
function listPathEnds(path: string): readonly string[] {
  const ends: string[] = [];
  for (let position = path.length - 1; position > 0; position--) {
    if ((path[position - 1] === '/' || path[position - 1] === '\\') && path[position] !== '/') {
      ends.push(path.slice(position));
    }
  }
  return [...ends, path].filter(end => end !== '');
}

/** Return the lines of a file as they are written after its path; empty for a whole file, and for other contexts. */
function formatLines(context: ChatContext): string {
  const range = 'linesRange' in context ? context.linesRange : undefined;
  return range === undefined ? '' : `:L${String(range.start)}-${String(range.end)}`;
}

/** Return a list with the word in the form of a mention; an empty list for an empty word. */
function listQuoted(word: string): readonly string[] {
  return word === '' ? [] : [quote(word)];
}

/** Return a word in the form of a mention, as the server reads it: with `@`, and in quotes if it has spaces. */
function quote(word: string): string {
  return /[\s"'`]/.test(word) ? `@"${word.replaceAll('"', '')}"` : `@${word}`;
}
