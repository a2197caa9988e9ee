/**
 * Checks that a message of the server has the shape of its method's parameters. No other module checks that.
 *
 * A newer server may add fields and kinds of content. They are accepted here, and the modules that read messages ignore
 * what they do not know.
 *
 * This module knows no method: `client.ts` decides which messages are checked. The shapes are generated into
 * `protocol.ts`.
 */

import { SHAPES } from './protocol';

/**
 * The shape of a value. A string is the name of a shape in `SHAPES`, a type (`s` string, `n` number, `b` boolean, `o`
 * object, `*` anything) or `=` with a literal. A list is `['|', ...shapes]` for a union, or `[shape]` for a list of it.
 * For example, `['|', 's', ['n']]` is a string or a list of numbers.
 */
export type Shape = string | readonly Shape[];
/** The shapes of a record's fields. A `?` after the name marks an optional field. */
type RecordShape = Readonly<Record<string, Shape>>;

/** All named shapes: the fields of a record, or a union or list. */
const NAMED_SHAPES: Readonly<Record<string, RecordShape | readonly Shape[]>> = SHAPES;

/**
 * Return the path of the first value that does not fit the shape, for example `.chats[2].title`. Undefined when all
 * fit. `path` is the path of `value` itself.
 */
export function findMisfit(shape: Shape, value: unknown, path = ''): string | undefined {
  if (typeof shape !== 'string') {
    const [first = '*', ...rest] = shape;
    return first === '|' ? findMisfitInUnion(rest, value, path) : findMisfitInList(first, value, path);
  }
  const named = NAMED_SHAPES[shape];
  if (named === undefined) {
    return matchesType(shape, value) ? undefined : path;
  }
  return isList(named) ? findMisfit(named, value, path) : findMisfitInRecord(named, value, path);
}

/** Whether a value has a type (`s`, `n`, …) or is the literal after `=`. */
function matchesType(shape: string, value: unknown): boolean {
  switch (shape) {
    case 's':
      return typeof value === 'string';
    case 'n':
      return typeof value === 'number';
    case 'b':
      return typeof value === 'boolean';
    case 'o':
      return isRecord(value);
    case '*':
      return true;
    default:
      return shape === `=${String(value)}`;
  }
}

/** Check that a value is a list, and each entry of the list. Returns the same as `findMisfit`. */
function findMisfitInList(item: Shape, value: unknown, path: string): string | undefined {
  if (!isList(value)) {
    return path;
  }
  for (const [index, entry] of value.entries()) {
    const misfit = findMisfit(item, entry, `${path}[${String(index)}]`);
    if (misfit !== undefined) {
      return misfit;
    }
  }
  return undefined;
}

/**
 * Check a value against a union. Returns the same as `findMisfit`. A tag is a field, `type` or `kind`, whose value
 * tells the members of a union apart. If the members have tags, only the member with the value's tag is checked, so
 * that the path leads to the value that is wrong. A value with an unknown tag passes: a newer server may have more
 * members. A value without a tag must fit a member without one.
 */
function findMisfitInUnion(shapes: readonly Shape[], value: unknown, path: string): string | undefined {
  const tagged = shapes.filter(shape => findTag(shape) !== undefined);
  if (tagged.length === 0) {
    return shapes.some(shape => findMisfit(shape, value, path) === undefined) ? undefined : path;
  }
  if (!isRecord(value)) {
    return path;
  }
  const member = tagged.find(shape => {
    const [name, kind] = findTag(shape) ?? ['', ''];
    return value[name] === kind;
  });
  if (member !== undefined) {
    return findMisfit(member, value, path);
  }
  const [name] = findTag(tagged[0] ?? '') ?? [''];
  const untagged = shapes.filter(shape => !tagged.includes(shape));
  const fits = typeof value[name] === 'string' || untagged.some(shape => findMisfit(shape, value, path) === undefined);
  return fits ? undefined : path;
}

/** Check that a value is a record, and each field of the record. Returns the same as `findMisfit`. */
function findMisfitInRecord(fields: RecordShape, value: unknown, path: string): string | undefined {
  if (!isRecord(value)) {
    return path;
  }
  for (const [key, shape] of Object.entries(fields)) {
    const name = key.replace('?', '');
    const isAbsent = name !== key && (value[name] === undefined || value[name] === null);
    const misfit = isAbsent ? undefined : findMisfit(shape, value[name], `${path}.${name}`);
    if (misfit !== undefined) {
      return misfit;
    }
  }
  return undefined;
}

/** Return the name and the value of a shape's tag, for example `['type', 'text']`; undefined when it has none. */
function findTag(shape: Shape): readonly [string, string] | undefined {
  const fields = typeof shape === 'string' ? NAMED_SHAPES[shape] : undefined;
  const tagField = fields !== undefined && !isList(fields) && Object.entries(fields).find(isTag);
  return tagField === undefined || tagField === false ? undefined : [tagField[0], String(tagField[1]).slice(1)];
}

/** Whether a field of a record is a tag: its shape is a literal. */
function isTag([name, shape]: readonly [string, Shape]): boolean {
  return (name === 'type' || name === 'kind') && typeof shape === 'string' && shape.startsWith('=');
}

/** Whether a value is a list. */
function isList(value: unknown): value is readonly Shape[] {
  return Array.isArray(value);
}

/** Whether a value is a JSON object. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
