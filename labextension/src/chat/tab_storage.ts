/**
 * Stores values that a tab of the browser needs again after a reload: the chat that is shown, texts that the user has
 * not sent, the parts that are left out of waiting calls, and the decisions about hunks. A hunk is a group of
 * neighbouring lines that the assistant has changed.
 *
 * This module knows no session: `panel/panel.tsx`, `drafts.ts` and `review/controller.ts` read and write the values.
 */

/** The functions of the browser's storage that are used here. */
export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Reads and writes the values of one tab. A value that is empty counts as absent. */
export class TabStorage {
  /**
   * `base` is the address of the server, which is a part of each name: several servers may share an origin. `store` is
   * a function, because a browser that forbids storage throws at the access to `window.sessionStorage`.
   */
  constructor(
    private readonly base: string,
    private readonly store: () => Store = () => window.sessionStorage
  ) {}

  /** Return the id of the chat that was shown last; undefined when there is none. */
  getChat(): string | undefined {
    return this.read('chat');
  }

  /** Store the id of the chat that is shown. */
  setChat(id: string): void {
    this.write('chat', id);
  }

  /** Return the chat that was last shown with a notebook; undefined when there is none. */
  getNotebookChat(path: string): string | undefined {
    return this.read(`chat of ${path}`);
  }

  /** Store the chat that is shown with a notebook. */
  setNotebookChat(path: string, id: string): void {
    this.write(`chat of ${path}`, id);
  }

  /** Return the text of a chat's draft; empty when there is none. */
  getDraft(chatId: string): string {
    return this.read(`draft ${chatId}`) ?? '';
  }

  /** Store the text of a chat's draft. */
  setDraft(chatId: string, text: string): void {
    this.write(`draft ${chatId}`, text);
  }

  /** Return the contexts of a chat's draft as JSON; empty when there are none. */
  getDraftContexts(chatId: string): string {
    return this.read(`contexts ${chatId}`) ?? '';
  }

  /** Store the contexts of a chat's draft. */
  setDraftContexts(chatId: string, json: string): void {
    this.write(`contexts ${chatId}`, json);
  }

  /**
   * Return the ids of the hunks that the user kept, in a change that has other, undecided hunks. `change` is the id of
   * the change.
   */
  getKeptHunks(change: string): readonly number[] {
    return (this.read(`kept ${change}`) ?? '').split(' ').filter(Boolean).map(Number);
  }

  /** Store the ids of the hunks that the user kept in a change. */
  setKeptHunks(change: string, hunks: readonly number[]): void {
    this.write(`kept ${change}`, hunks.join(' '));
  }

  /** Return the indexes of the parts that the user leaves out of a waiting call. `call` is the key of the call. */
  getLeftOut(call: string): readonly number[] {
    return (this.read(`left out ${call}`) ?? '').split(' ').filter(Boolean).map(Number);
  }

  /** Store the indexes of the parts that the user leaves out of a waiting call. */
  setLeftOut(call: string, parts: readonly number[]): void {
    this.write(`left out ${call}`, parts.join(' '));
  }

  /** Return a value; undefined when there is none, or when the browser forbids storage. */
  private read(name: string): string | undefined {
    try {
      return this.store().getItem(this.buildKey(name)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** Write a value, or remove it if it is empty. An error is ignored: a browser may forbid storage, or have no room. */
  private write(name: string, value: string): void {
    try {
      if (value === '') {
        this.store().removeItem(this.buildKey(name));
      } else {
        this.store().setItem(this.buildKey(name), value);
      }
    } catch {
      // After a reload the tab does not know this value. Nothing else depends on it.
    }
  }

  /** Return the name of a value in the browser's storage. */
  private buildKey(name: string): string {
    return `jupyter-eca ${this.base} ${name}`;
  }
}
