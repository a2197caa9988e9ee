/**
 * The messages of tests/fixtures/wire against the generated types: the Python tests hold the models against the same
 * files. The compiler itself judges: an import of JSON would widen each literal to `string`.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import ts from 'typescript';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures', 'wire');
const CHECKED = join(import.meta.dirname, 'checked.ts');

interface Fixture {
  readonly method: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

function declaration(name: string, index: number): string {
  const fixture = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Fixture;
  const part = 'params' in fixture ? 'params' : 'result';
  return `export const v${String(index)}: Methods['${fixture.method}']['${part}'] = ${JSON.stringify(fixture[part])};`;
}

/** What the compiler says of these lines, each with its line. */
function complaints(lines: readonly string[]): string[] {
  const head = "import type { ClientMethods, ServerMethods } from '../../src/wire/protocol';";
  const both = 'type Methods = ClientMethods & ServerMethods;';
  const text = [`${head} ${both}`, ...lines].join('\n');
  const options = { strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: [], lib: ['lib.es5.d.ts'] };
  const files = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...files,
    fileExists: file => file === CHECKED || files.fileExists(file),
    getSourceFile: (file, version) =>
      file === CHECKED ? ts.createSourceFile(file, text, version) : files.getSourceFile(file, version)
  };
  return ts.getPreEmitDiagnostics(ts.createProgram([CHECKED], options, host)).map(({ file, start, messageText }) => {
    const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
    return `${lines[line - 1] ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

test('every message on the wire is of the type that its row of the table has', () => {
  const fixtures = readdirSync(FOLDER);
  expect(fixtures.length).toBeGreaterThan(0);
  expect(complaints(fixtures.map(declaration))).toEqual([]);
  // The compiler takes its time on a machine that has other work.
}, 60_000);

test('a message of another type is refused', () => {
  const wrong = "export const v: Methods['chat/cleared']['params'] = { chatId: 'a', messages: 'all' };";
  expect(complaints([wrong])).toHaveLength(1);
});
