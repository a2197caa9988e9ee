import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Marked } from 'marked';
import { describe, expect, test } from 'vitest';

import { parseDiff } from '../../src/render/unified_diff';
import { groupCommands, isCommand, narrowCommands } from '../../src/chat/command_names';
import { describeContext } from '../../src/mentions/mentions';
import { SendRequest, listSuggestions } from '../../src/chat/suggestions';
import { disableDiagrams } from '../../src/render/diagrams';
import { SegmentedText, splitCodeIntoParts, splitSegments } from '../../src/render/markdown_segments';
import {
  formatCount,
  formatCost,
  formatDuration,
  formatNumber,
  toPlainMarkdown,
  toPlainText,
  replaceCellIds
} from '../../src/render/format';
import { findTrigger, findTypedMention } from '../../src/mentions/completion_trigger';

const FIXTURES = join(import.meta.dirname, '..', '..', '..', 'tests', 'fixtures');
const DOLLARS = JSON.parse(readFileSync(join(FIXTURES, 'format', 'dollars.json'), 'utf8')) as [string, string][];

describe('Markdown is split', () => {
  test.each([
    ['between paragraphs', ['One.\n\n', 'Two.']],
    ['around a list, not in it', ['List:\n\n1. a\n\n2. b\n\n   more\n\n', 'After.']],
    ['never in a fence', ['```python\na\n\nb\n```\n\n', 'After.']],
    ['never in a longer fence that holds a shorter', ['````\n```\n\nx\n````\n\n', 'After.']],
    ['never in maths', ['$$\na\n\nb\n$$\n\n', 'After.']],
    ['not in a fence that is still open', ['Text.\n\n', '```\na\n\nb']]
  ])('%s', (_, pieces) => {
    expect(splitSegments(pieces.join('')).segments).toEqual(pieces);
  });

  test('without losing a character, however it ends', () => {
    const text = 'a\n\n> b\n\nc\n\n\n- d\n\ne\n';
    for (let end = 0; end <= text.length; end++) {
      expect(splitSegments(text.slice(0, end)).segments.join('')).toBe(text.slice(0, end));
    }
  });

  test('so that all segments but the last stay the same', () => {
    const text = 'One.\n\nTwo.\n\n- a\n- b\n\n```\nc\n\nd\n```\n\nEnd.';
    for (let end = 1; end <= text.length; end++) {
      const done = splitSegments(text.slice(0, end)).segments.slice(0, -1);
      expect(splitSegments(text).segments.slice(0, done.length)).toEqual(done);
    }
  });

  test('piece by piece in the same way as at once', () => {
    const text = 'One.\n\nTwo.\n\n- a\n- b\n\n$$\nx\n\ny\n$$\n\n```\nc\n\nd\n```\n\nEnd.\n\n~~~\ne';
    for (const size of [1, 3, 7]) {
      let grown: SegmentedText | undefined;
      for (let end = size; end < text.length + size; end += size) {
        grown = splitSegments(text.slice(0, end), grown);
        expect(grown).toEqual(splitSegments(text.slice(0, end)));
      }
    }
  });

  test('anew when another text takes its place', () => {
    const before = splitSegments('One.\n\nTwo.\n\nThree.');
    expect(splitSegments('One.\n\n2.', before)).toEqual(splitSegments('One.\n\n2.'));
  });

  test('so that a block of code without an end is found in the last segment', () => {
    const { segments, openBlockOffset } = splitSegments('Text.\n\nCode:\n```\na\n```\n```js\nb\n');
    expect(segments.at(-1)?.slice(openBlockOffset)).toBe('```js\nb\n');
    expect(splitSegments('```\na\n```\n').openBlockOffset).toBeUndefined();
  });
});

test('code is split into parts of a hundred lines', () => {
  const text = Array.from({ length: 250 }, (_, n) => `line ${String(n)}\n`).join('') + 'last';
  const parts = splitCodeIntoParts(text);
  expect(parts.join('')).toBe(text);
  expect(parts.map(part => part.split('\n').length - 1)).toEqual([100, 100, 50]);
});

test.each(['```mermaid\na\n```', '~~~ mermaid\na\n~~~', '> ```mermaid\n> a\n> ```', '- ```mermaid\n  a\n  ```'])(
  'a parser that draws diagrams finds none, and the rest of the text stays the same: %j',
  async block => {
    const languages: (string | undefined)[] = [];
    const marked = new Marked({
      async: true,
      walkTokens: token => {
        if (token.type === 'code') {
          languages.push((token as { lang?: string }).lang);
        }
      }
    });
    const parser = { render: (source: string) => Promise.resolve(marked.parse(source)) };
    const text = `A *Mermaid* [m](https://mermaid.js.org/mermaid?q=mermaid) \`mermaid\`.\n\n${block}\n`;
    const plain = await disableDiagrams(parser).render(text);
    expect(languages).toHaveLength(1);
    expect(languages).not.toContain('mermaid');
    expect(plain).toBe(await parser.render(text));
  }
);

test('plain text has no terminal escapes and no marks that change the direction of writing', () => {
  expect(toPlainText('\u001b[31mred\u001b[0m \u001b]0;title\u0007ok\u0008\u202egnp')).toBe('red okgnp');
});

test('figures are formatted briefly', () => {
  expect([950, 1234, 34_000, 1_200_000].map(formatCount)).toEqual(['950', '1.2k', '34k', '1.2M']);
  expect(formatNumber(1_234_567)).toBe('1,234,567');
  expect([40, 2100, 80_000].map(formatDuration)).toEqual(['40 ms', '2.1 s', '1 min 20 s']);
});

// The same file is read by tests/engine/test_dollars.py.
test.each(DOLLARS)('an amount of %s dollars is %s', (amount, text) => {
  expect(formatCost(amount)).toBe(text);
});

test('what is no amount has no text', () => {
  expect(formatCost('much')).toBe('');
});

test('the trigger of a completion is the one at the cursor', () => {
  expect(findTrigger('see @no', 7)).toEqual({ kind: '@', start: 4, query: 'no' });
  expect(findTrigger('/in', 3)).toEqual({ kind: '/', start: 0, query: 'in' });
  expect(findTrigger('in #src/a b', 9)).toEqual({ kind: '#', start: 3, query: 'src/a' });
  expect(findTrigger('a/b', 3)).toBeUndefined();
  expect(findTrigger('me@home', 7)).toBeUndefined();
  expect(findTrigger('@done and', 9)).toBeUndefined();
});

test('a mention that is typed to its end is one as soon as a space follows it', () => {
  const trigger = findTrigger('see @cell:3', 11);
  expect(findTypedMention('see @cell:3', 'see @cell:3 ', trigger)).toBe('@cell:3');
  expect(findTypedMention('see @cell:3', 'see @cell:34', trigger)).toBeUndefined();
  expect(findTypedMention('in #src', 'in #src ', findTrigger('in #src', 7))).toBeUndefined();
});

test('a diff has the numbers of both sides', () => {
  const lines = parseDiff('--- a/x\n+++ b/x\n@@ -4,3 +4,3 @@ def f\n same\n-old\n+new\n\\ No newline at end of file\n');
  expect(lines).toEqual([
    { kind: 'gap', text: 'def f' },
    { kind: 'same', text: 'same', oldNumber: 4, newNumber: 4 },
    { kind: 'remove', text: 'old', oldNumber: 5 },
    { kind: 'add', text: 'new', newNumber: 5 }
  ]);
});

test('a context of an unknown kind still has a label', () => {
  expect(describeContext({ type: 'file', path: 'a/b.py' })).toEqual({ label: 'b.py', detail: 'a/b.py' });
  expect(describeContext({ type: 'variable', name: 'df' })).toMatchObject({ label: 'df' });
  expect(describeContext({ type: 'cell', cell: 'x', path: 'a.ipynb', label: 'cell:3', description: 'x = 1' })).toEqual({
    label: 'cell:3',
    detail: 'x = 1'
  });
  expect(describeContext({ type: 'repoMap' })).toMatchObject({ label: 'repoMap' });
});

test('the sign of the trigger decides which suggestions are requested', async () => {
  const asked: string[] = [];
  const ask = (method: string): Promise<never> => {
    asked.push(method);
    const answer = {
      contexts: [{ type: 'web', url: 'u' }],
      commands: [],
      files: [{ type: 'file', path: '/top/a/b', relativePath: 'a/b' }]
    };
    return Promise.resolve(answer as never);
  };
  const {
    items: [context],
    lacksVariables
  } = await listSuggestions({ kind: '@', start: 0, query: '' }, 'a', [], ask);
  expect(lacksVariables).toBe(false);
  await listSuggestions({ kind: '/', start: 0, query: '' }, 'a', [], ask);
  const {
    items: [file]
  } = await listSuggestions({ kind: '#', start: 0, query: '' }, 'a', [], ask);
  expect(asked).toEqual(['chat/queryContext', 'chat/queryCommands', 'chat/queryFiles']);
  expect(context?.context).toEqual({ type: 'web', url: 'u' });
  expect(file?.insert).toBe('a/b ');
});

test('an empty cell is listed by its number, and not by the name of its notebook', async () => {
  const empty = { type: 'cell', cell: 'x', label: 'cell:3', description: '', path: 'sales.ipynb' };
  const ask = (): Promise<never> => Promise.resolve({ contexts: [empty] } as never);
  const { items } = await listSuggestions({ kind: '@', start: 0, query: '' }, 'a', [], ask);
  expect(items.map(({ label, detail }) => [label, detail])).toEqual([['cell:3', '']]);
});

test('a cell is listed by its heading, and an address with a gap is typed on where the gap begins', async () => {
  const cell = { type: 'cell', cell: 'x', label: 'cell:3', description: '## Load the data' };
  const page = { type: 'mcpResource', server: 'docs', uri: 'docs://{page}', name: 'page' };
  const ask = (): Promise<never> => Promise.resolve({ contexts: [cell, page] } as never);
  const {
    items: [heading, gap]
  } = await listSuggestions({ kind: '@', start: 0, query: '' }, 'a', [], ask);
  expect(heading).toMatchObject({ label: 'Load the data', detail: 'cell:3', context: cell });
  expect(gap?.insert).toBe('@docs:docs://');
  expect(gap?.context).toBeUndefined();
});

test('commands are ranked by their names: exact, prefix, word, part, letters in order, and last by description', async () => {
  const names = ['compact', 'undo', 'gallop', 'cargo', 'let-go', 'goals', 'go'];
  const commands = names.map(name => ({ name, description: '', type: 'native', arguments: [] }));
  const ask: SendRequest = () => Promise.resolve({ commands } as never);
  const { items: found } = await listSuggestions({ kind: '/', start: 0, query: 'Go' }, 'a', [], ask);
  expect(found.map(({ key }) => key)).toEqual(['go', 'goals', 'let-go', 'cargo', 'gallop', 'compact', 'undo']);
  expect(narrowCommands(found, 'goa').map(({ key }) => key)).toEqual(['goals']);
});

test('cells are named by their numbers, and deleted cells by a part of their ids', () => {
  const long = '5f1e2a3b-0c4d-4e5f-8a9b-0c1d2e3f4a5b';
  const find = (id: string): { number: number } | undefined => (id === 'c' ? { number: 3 } : undefined);
  expect(replaceCellIds('Editing cell c', { cell: 'c' }, find)).toBe('Editing cell 3');
  expect(replaceCellIds('Running cells c, 4', { cells: ['c', 4] }, find)).toBe('Running cells 3, 4');
  expect(replaceCellIds(`Deleting cell ${long}`, { cell: long }, find)).toBe('Deleting cell 5f1e2a3b…');
  expect(replaceCellIds('Editing cell c2', { cell: 'c2' }, find)).toBe('Editing cell c2');
  expect(replaceCellIds('Editing cell (.*', { cell: '(.*' }, find)).toBe('Editing cell (.*');
});

test('a name after a slash is a command, and a path is none', () => {
  expect(['/options', ' /options model large', '/server:prompt', '/OPTIONS'].every(isCommand)).toBe(true);
  expect(['/', '/ x', 'see /options', '/home/ada', '/5'].some(isCommand)).toBe(false);
});

test('Markdown keeps its fences, and at most 64 backticks or tildes in a row', () => {
  const fenced = '```python\nx\n```\n~~~~\ny\n~~~~\n``a`b``';
  expect(toPlainMarkdown(fenced)).toBe(fenced);
  expect(toPlainMarkdown(`a${'`'.repeat(64)}b${'~'.repeat(64)}`)).toBe(`a${'`'.repeat(64)}b${'~'.repeat(64)}`);
  expect(toPlainMarkdown(`a${'`'.repeat(900)}b${'~'.repeat(65)}`)).toBe(`a${'`'.repeat(64)}b${'~'.repeat(64)}`);
});

test('of all commands, those that are used often come first, and those that were added before all others', () => {
  const commands = [
    { key: 'init', kind: 'native' },
    { key: 'undo', kind: 'native' },
    { key: 'mine', kind: 'customPrompt' },
    { key: 'notebook', kind: 'native' },
    { key: 'docs:page', kind: 'mcpPrompt' },
    { key: 'hooks', kind: 'native' }
  ];
  const grouped = groupCommands(commands).map(({ key, group }) => `${group} ${key}`);
  expect(grouped).toEqual(['common notebook', 'common undo', 'own mine', 'own docs:page', 'more init', 'more hooks']);
});
