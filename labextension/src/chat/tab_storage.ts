/** What a tab of the browser knows again when it is loaded anew: ids of chats, of changes and of hunks, nothing else. */

export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export class Remembered {
  /** Several servers may share an origin: `base` is the address of this one. */
  constructor(
    private readonly base: string,
    private readonly store: () => Store = () => window.sessionStorage
  ) {}

  chat(): string | undefined {
    return this.read('chat');
  }

  show(id: string): void {
    this.write('chat', id);
  }

  /** The hunks of a change that were kept, while others of it wait to be decided. */
  kept(change: string): readonly number[] {
    return (this.read(`kept ${change}`) ?? '').split(' ').filter(Boolean).map(Number);
  }

  keep(change: string, hunks: readonly number[]): void {
    this.write(`kept ${change}`, hunks.join(' '));
  }

  private read(name: string): string | undefined {
    try {
      return this.store().getItem(this.key(name)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** A browser may forbid it, or have no room left. */
  private write(name: string, value: string): void {
    try {
      if (value === '') {
        this.store().removeItem(this.key(name));
      } else {
        this.store().setItem(this.key(name), value);
      }
    } catch {
      // It is not known again, then.
    }
  }

  private key(name: string): string {
    return `jupyter-eca ${this.base} ${name}`;
  }
}
