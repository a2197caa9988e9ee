import { expect, test } from 'vitest';

import { DocumentContext, Refresher, LabDocuments } from '../../src/files/refresh';

type State = 'started' | 'completed';

/** A document in a page, and its file on a disk. */
class Doc {
  dirty = false;
  collaborative = false;
  disk = 'one';
  here = 'one';
  readonly watchers: ((sender: unknown, state: State) => void)[] = [];

  // What the refresher knows of a context.
  readonly context = {
    path: 'a.py',
    isDisposed: false,
    isReady: true,
    contentsModel: Object.defineProperty({ path: 'a.py', last_modified: '2026-01-01T00:00:00Z' }, 'hash', {
      get: () => this.here
    }),
    model: Object.defineProperties(
      {},
      { dirty: { get: () => this.dirty }, collaborative: { get: () => this.collaborative } }
    ),
    saveState: { connect: (watcher: (sender: unknown, state: State) => void) => this.watchers.push(watcher) }
  } as unknown as DocumentContext;

  save(state: State): void {
    for (const watcher of this.watchers) {
      watcher(undefined, state);
    }
  }
}

function around(doc: Doc, more: Partial<LabDocuments> = {}): { refresher: Refresher; conflicts: (() => void)[] } {
  const conflicts: (() => void)[] = [];
  const refresher = new Refresher({
    listDocuments: () => [doc.context],
    readMetadata: () =>
      Promise.resolve({ path: 'a.py', hash: doc.disk, last_modified: '2026-01-01T00:00:00Z' } as Awaited<
        ReturnType<LabDocuments['readMetadata']>
      >),
    reportConflict: (_, reload) => conflicts.push(reload),
    reload: () => {
      doc.here = doc.disk;
      doc.dirty = false;
      return Promise.resolve();
    },
    ...more
  });
  return { refresher, conflicts };
}

test('a document without unsaved changes is read again when its file has changed', async () => {
  const doc = new Doc();
  const { refresher, conflicts } = around(doc);
  doc.disk = 'two';
  await refresher.check();
  expect(doc.here).toBe('two');
  expect(conflicts).toEqual([]);
});

test('unsaved changes stay; the user is asked once about each version on disk, and may discard the changes', async () => {
  const doc = new Doc();
  const { refresher, conflicts } = around(doc);
  doc.dirty = true;
  doc.disk = 'two';
  await refresher.check();
  await refresher.check();
  expect([doc.here, conflicts.length]).toEqual(['one', 1]);
  doc.disk = 'three';
  await refresher.check();
  expect(conflicts.length).toBe(2);
  conflicts[1]?.();
  expect(doc.here).toBe('three');
});

test('a save in progress does not count as a change made elsewhere', async () => {
  const doc = new Doc();
  const { refresher, conflicts } = around(doc);
  refresher.follow();
  doc.dirty = true;
  doc.save('started');
  doc.disk = 'mine';
  await refresher.check();
  expect(conflicts).toEqual([]);
  doc.here = 'mine';
  doc.dirty = false;
  doc.save('completed');
  await refresher.check();
  expect([conflicts.length, doc.here]).toEqual([0, 'mine']);
});

test('a change that is reported during a check is checked, too', async () => {
  const doc = new Doc();
  const { refresher } = around(doc);
  const first = refresher.check();
  doc.disk = 'two';
  const second = refresher.check();
  await Promise.all([first, second]);
  expect(doc.here).toBe('two');
});

test('a deleted file and a shared document are not read again', async () => {
  const gone = new Doc();
  gone.disk = 'two';
  await around(gone, { readMetadata: () => Promise.reject(new Error('404')) }).refresher.check();
  const shared = new Doc();
  shared.collaborative = true;
  shared.disk = 'two';
  await around(shared).refresher.check();
  expect([gone.here, shared.here]).toEqual(['one', 'one']);
});
