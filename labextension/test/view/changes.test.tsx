/** Changes of the assistant: what is requested from the server, and what the panel shows. */

import { nullTranslator } from '@jupyterlab/translation';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { keepChanges, loadChanges, undoChanges } from '../../src/chat/changes';
import { Change } from '../../src/chat/types';
import { createElement } from '../../src/view/common/element';
import { ClientMethods, ServerMethods } from '../../src/wire/protocol';
import { Peer } from '../../src/wire/rpc';
import { Session } from '../../src/chat/session';
import { Changes } from '../../src/view/transcript/Changes';
import { EnvProvider } from '../../src/view/common/env';
import { createLinks } from '../support/memory_link';

const nothing = (): void => undefined;
const text = {
  before: 'x = 1',
  after: 'x = <2>',
  diff: '@@ -1 +1 @@\n-x = 1\n+x = <2>\n',
  linesAdded: 1,
  linesRemoved: 1
};
const CELL: Change = {
  id: 't:1',
  number: 1,
  turn: 't',
  path: 'work/nb.ipynb',
  text,
  type: 'cell',
  kind: 'edited',
  cellId: 'a',
  cellType: 'code',
  place: 3,
  placeBefore: 2
};
const FILE: Change = {
  id: 't:2',
  number: 2,
  turn: 't',
  path: 'a.bin',
  type: 'file',
  kind: 'edited',
  refused: 'changed'
};

/** A session with a server that has these changes; what is kept or taken back goes, but for what is refused. */
async function met(listed: readonly Change[] = [CELL, FILE]): Promise<[Session, string[]]> {
  const [ours, theirs] = createLinks();
  const server = new Peer<ServerMethods, ClientMethods>(theirs);
  const heard: string[] = [];
  let changes = listed;
  const gone = (ids: readonly string[], how: string): void => {
    heard.push(`${how} ${ids.join()}`);
    changes = changes.filter(({ id, refused }) => !ids.includes(id) || (how === 'revert' && refused !== undefined));
  };
  const defaults = { chatDefaultModel: '', chatBehaviors: [], chatDefaultBehavior: '', chatWelcomeMessage: '' };
  server.handle('initialize', () => ({ models: [], ...defaults }));
  server.handle('chat/list', () => ({ chats: [] }));
  server.handle('chat/changes', () => ({ changes }));
  server.handle('chat/keep', ({ changes: ids }) => {
    gone(ids, 'keep');
    return {};
  });
  server.handle('chat/revert', ({ changes: ids }) => {
    gone(ids, 'revert');
    const left = ids.includes(FILE.id) ? [{ id: FILE.id, shown: 'a.bin', why: 'changed' }] : [];
    const reverted = ids.filter(id => id !== FILE.id).map(id => ({ id, shown: id }));
    return { reverted, left };
  });
  const session = new Session({ open: () => Promise.resolve(ours), createId: () => 'a', callLater: () => nothing });
  await session.connect();
  await loadChanges(session, 'a');
  return [session, heard];
}

test('a kept change disappears, and others stay', async () => {
  const [session, heard] = await met();
  expect(session.chat.changes).toEqual([CELL, FILE]);
  await keepChanges(session, [CELL]);
  expect(heard).toEqual(['keep t:1']);
  expect(session.chat.changes).toEqual([FILE]);
});

test('a change that cannot be undone stays, and a warning says why', async () => {
  const [session, heard] = await met();
  await undoChanges(session, [CELL, FILE]);
  expect(heard).toEqual(['revert t:1,t:2']);
  expect(session.chat.changes).toEqual([FILE]);
  expect(session.state.messages.map(({ text }) => text)).toEqual(['a.bin: changed']);
});

test('undoing a file that the assistant made reports that the file is gone, so that its tab can be closed', async () => {
  const made: Change = { id: 't:3', number: 3, turn: 't', path: 'new.ipynb', type: 'file', kind: 'created' };
  const [session] = await met([CELL, FILE, made]);
  const removed: string[] = [];
  session.onFilesRemoved = changes => removed.push(...changes.map(({ path }) => path));
  await undoChanges(session, [CELL, FILE]);
  expect(removed).toEqual([]);
  await undoChanges(session, [made]);
  expect(removed).toEqual(['new.ipynb']);
});

test('of the changes about which nobody has to decide, only those of the last turn are listed', async () => {
  const [session] = await met([
    { ...CELL, settled: true },
    { ...CELL, id: 'u:1', turn: 'u' },
    { ...FILE, id: 'u:2', turn: 'u', settled: true }
  ]);
  expect(session.chat.changes?.map(({ id }) => id)).toEqual(['u:1', 'u:2']);
});

test('a server without changes causes no message', async () => {
  const session = new Session({
    open: () => Promise.reject(new Error()),
    createId: () => 'a',
    callLater: () => nothing
  });
  await loadChanges(session, 'a');
  expect([session.chat.changes, session.state.messages]).toEqual([[], []]);
});

function shown(changes: readonly Change[], open: boolean): string {
  const env = {
    trans: nullTranslator.load(''),
    markdown: () => Promise.resolve(),
    openPath: nothing,
    showCell: nothing
  };
  const done = (): Promise<void> => Promise.resolve();
  return renderToStaticMarkup(
    <EnvProvider value={env}>
      <Changes changes={changes} busy={false} startsOpen={open} onKeep={done} onUndo={done} />
    </EnvProvider>
  );
}

test('changes are one line until they are unfolded', () => {
  expect(shown([], false)).toBe('');
  const html = shown([CELL, FILE], false);
  expect(html).toContain('2 changes');
  expect(html.match(/Keep all<|Undo all</g)).toHaveLength(2);
  expect(html).not.toContain('eca-Diff');
});

test('each change has its name, its diff and two buttons with full names', () => {
  const html = shown([CELL, FILE], true);
  expect(html).toContain('Cell 3, nb.ipynb');
  expect(html).toContain('x = &lt;2&gt;');
  expect(html).toContain('aria-label="Keep: Cell 3, nb.ipynb"');
  expect(html).toContain('aria-label="Undo: Cell 3, nb.ipynb"');
  expect(html).toContain('Cannot be undone: changed');
  expect(html.match(/disabled=""/g)).toHaveLength(1);
});

test('a change that was approved before it was made can only be undone', () => {
  const approved: Change = { ...CELL, settled: true };
  const html = shown([approved], true);
  expect(html).not.toContain('Keep');
  expect(html).toContain('aria-label="Undo: Cell 3, nb.ipynb"');
  expect(shown([approved, FILE], false)).toContain('Keep all');
});

test('a change that was made although it was refused is marked, also while the list is folded', () => {
  const against: Change = { ...FILE, madeAlthoughRefused: true };
  expect(shown([against], false)).toContain('made although it was refused');
  expect(shown([CELL, against], false)).toContain('1 made although it was refused');
  expect(shown([against], true)).toContain('The agent made this change although it was refused.');
  expect(shown([CELL, FILE], true)).not.toContain('although');
});
