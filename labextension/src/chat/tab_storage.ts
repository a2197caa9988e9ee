/**
 * What a tab of the browser keeps when it is reloaded: ids of chats, of changes and of hunks, and texts that the user has
 * not sent.
 *
 * Knows no session: `panel/panel.tsx`, `drafts.ts` and `review/controller.ts` read and write it.
 */

export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export class TabStorage {
  /** `base` is the address of the server: several servers may share an origin. */
  constructor(
    private readonly base: string,
    private readonly store: () => Store = () => window.sessionStorage
  ) {}

  getChat(): string | undefined {
    return this.read('chat');
  }

  setChat(id: string): void {
    this.write('chat', id);
  }

  getDraft(chatId: string): string {
    return this.read(`draft ${chatId}`) ?? '';
  }

  setDraft(chatId: string, text: string): void {
    this.write(`draft ${chatId}`, text);
  }

  /** Return the hunks of a change that the user kept, while others of it are not decided yet. */
  getKeptHunks(change: string): readonly number[] {
    return (this.read(`kept ${change}`) ?? '').split(' ').filter(Boolean).map(Number);
  }

  setKeptHunks(change: string, hunks: readonly number[]): void {
    this.write(`kept ${change}`, hunks.join(' '));
  }

  private read(name: string): string | undefined {
    try {
      return this.store().getItem(this.fullName(name)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** A browser may forbid storage, or have no room left. */
  private write(name: string, value: string): void {
    try {
      if (value === '') {
        this.store().removeItem(this.fullName(name));
      } else {
        this.store().setItem(this.fullName(name), value);
      }
    } catch {
      // After a reload the tab does not know this value. Nothing else depends on it.
    }
  }

  private fullName(name: string): string {
    return `jupyter-eca ${this.base} ${name}`;
  }
}
