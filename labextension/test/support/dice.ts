/** Random values by a seed, and random damage. The same seed gives the same values, so that a failure can be replayed. */

/** How many inputs a test tries: few by default, and many with NIGHTLY=1. */
export function countInputs(few: number, many: number): number {
  return process.env.NIGHTLY === '1' ? many : few;
}

/** Values that are expected least. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 53, 1e308, '', 'x', '\0', '\ud83d', '\u202e', 'a\nb', '__proto__'],
  ...['constructor', [], {}, [[]], [null], { '': null }, { a: { b: [] } }, ['x', 1, null]]
];

export class Dice {
  constructor(private state: number) {}

  /** Return a number from 0 to 1. The algorithm is mulberry32. */
  roll(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Return a whole number below `end`. */
  below(end: number): number {
    return Math.floor(this.roll() * end);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** Return a copy of data for JSON in which up to four values are others, or are missing. */
  damage(data: unknown): unknown {
    let copy: unknown = structuredClone(data);
    for (let times = 1 + this.below(4); times > 0; times--) {
      const places = listPlaces(copy);
      if (places.length === 0 || this.roll() < 0.02) {
        return this.pick(VALUES);
      }
      const [holder, key] = this.pick(places);
      if (this.roll() < 0.2) {
        Reflect.deleteProperty(holder, key);
      } else {
        holder[key] = structuredClone(this.roll() < 0.1 ? [holder[key], holder[key]] : this.pick(VALUES));
      }
      copy = structuredClone(copy);
    }
    return copy;
  }
}

type Place = readonly [holder: Record<string, unknown>, key: string];

/** Return each object and list in the data, with each of its keys. */
function listPlaces(data: unknown): readonly Place[] {
  if (typeof data !== 'object' || data === null) {
    return [];
  }
  const holder = data as Record<string, unknown>;
  return Object.keys(holder).flatMap(key => [[holder, key] as const, ...listPlaces(holder[key])]);
}
