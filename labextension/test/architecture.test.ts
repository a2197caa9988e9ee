/**
 * How the folders of `src/` may know each other: the drawing of this is one list, `FLOORS`.
 *
 * All imports count, those of types and those that load a module later as well. Knows no module by name but `index.ts`.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import ts from 'typescript';
import { expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '..', 'src');

/** From the bottom to the top. A folder imports from its own floor's folder and from the floors before it. */
const FLOORS: readonly (readonly string[])[] = [
  ['wire', 'render'],
  ['mentions'],
  ['chat'],
  ['chats'],
  ['view/common'],
  ['view/tools'],
  ['view/transcript'],
  ['view/composer'],
  ['view/first_run'],
  ['view'],
  ['notebook', 'widget'],
  ['review'],
  ['inline'],
  ['panel'],
  ['settings', 'status', 'attention', 'errors', 'answers', 'files'],
  // `index.ts`, which lists the plugins.
  ['']
];

/** A folder of more files than a reader takes in at a glance is cut by feature. */
const MOST_MODULES = 24;

const MODULES: readonly string[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'));

function folderOf(module: string): string {
  return dirname(module).replace(/^\.$/, '');
}

/** The modules of `src/` that a module imports, as paths within `src/`. */
function importsOf(module: string): readonly string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(SRC, module), 'utf8'), true, true);
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => relative(SRC, join(SRC, dirname(module), fileName)).replaceAll('\\', '/'))
    .flatMap(path => MODULES.filter(name => [`${path}.ts`, `${path}.tsx`, `${path}/index.tsx`].includes(name)));
}

const IMPORTS: ReadonlyMap<string, readonly string[]> = new Map(MODULES.map(name => [name, importsOf(name)]));

/** Whether a module of the folder `from` may import one of the folder `to`. */
function mayImport(from: string, to: string): boolean {
  const floor = (folder: string): number => FLOORS.findIndex(folders => folders.includes(folder));
  return from === to || floor(to) < floor(from);
}

/**
 * The modules left when those that import nothing of the rest are taken away, again and again: rings, and their users.
 */
function modulesInRings(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const left = new Set(imports.keys());
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const name of left) {
      if (!imports.get(name)?.some(other => left.has(other))) {
        left.delete(name);
      }
    }
  }
  return [...left];
}

test('the imports of the modules are found', () => {
  expect(IMPORTS.get('index.ts')).toContain('panel/plugin.ts');
  expect(IMPORTS.get('panel/plugin.ts')).toContain('panel/panel.tsx');
  expect(IMPORTS.get('chat/state.ts')).toContain('chat/types.ts');
});

test('each folder has a floor', () => {
  const folders = new Set(MODULES.map(folderOf));
  expect([...folders].sort()).toEqual(FLOORS.flat().sort());
});

test('a module imports only from its own folder and from the floors below', () => {
  const wrong = [...IMPORTS].flatMap(([name, others]) =>
    others.filter(other => !mayImport(folderOf(name), folderOf(other))).map(other => `${name} imports ${other}`)
  );
  expect(wrong).toEqual([]);
});

test('no import leads back to the module it begins at', () => {
  expect(modulesInRings(IMPORTS)).toEqual([]);
});

test('a ring of two modules is found', () => {
  const ring = new Map([
    ['a', ['b']],
    ['b', ['a', 'c']],
    ['c', []]
  ]);
  expect(modulesInRings(ring)).toEqual(['a', 'b']);
});

test('a folder has no more modules than a reader takes in at a glance', () => {
  const crowded = FLOORS.flat().filter(
    folder => MODULES.filter(name => folderOf(name) === folder).length > MOST_MODULES
  );
  expect(crowded).toEqual([]);
});

test('a feature keeps its plugin in plugin.ts', () => {
  const plugins = MODULES.filter(name => readFileSync(join(SRC, name), 'utf8').includes(': JupyterFrontEndPlugin<'));
  expect(plugins.filter(name => !name.endsWith('/plugin.ts'))).toEqual([]);
  expect(IMPORTS.get('index.ts')?.toSorted()).toEqual(plugins.toSorted());
});
