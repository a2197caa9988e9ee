/** The instructions of a notebook: read and written in its metadata, and sent only if the notebook is trusted. */

import { YNotebook } from '@jupyter/ydoc';
import { nullTranslator } from '@jupyterlab/translation';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { writeInstructions, readInstructions, isTrusted } from '../../src/notebook/instructions';
import { createElement } from '../../src/view/common/element';
import { Env, EnvProvider } from '../../src/view/common/env';
import { NotebookInstructions, InstructionsEditor } from '../../src/view/Instructions';

const nothing = (): void => undefined;
const env: Env = {
  trans: nullTranslator.load(''),
  markdown: () => Promise.resolve(),
  openPath: nothing,
  showCell: nothing
};

function shown(found: Partial<NotebookInstructions>): string {
  const whole = { path: 'work/a.ipynb', name: 'a.ipynb', text: '', trusted: true, ...found };
  return renderToStaticMarkup(
    <EnvProvider value={env}>
      <InstructionsEditor instructions={whole} onSave={nothing} />
    </EnvProvider>
  );
}

test('instructions leave the other metadata alone, and removing them leaves nothing behind', () => {
  const model = YNotebook.create();
  expect(readInstructions(model)).toBe('');
  writeInstructions(model, ' Plot with <b>.\n');
  expect(readInstructions(model)).toBe('Plot with <b>.');
  expect(model.getMetadata()).toMatchObject({ jupyter_eca: { instructions: 'Plot with <b>.' } });
  writeInstructions(model, '');
  expect(model.getMetadata()).not.toHaveProperty('jupyter_eca');
  model.setMetadata('jupyter_eca', { lock: true });
  writeInstructions(model, 'Short.');
  writeInstructions(model, ' ');
  expect(model.getMetadata('jupyter_eca')).toEqual({ lock: true });
});

test.each([5, 'words', null, { instructions: 7 }])('what is no instructions is none: %j', value => {
  const model = YNotebook.create();
  model.setMetadata('jupyter_eca', value as never);
  expect(readInstructions(model)).toBe('');
});

test('a notebook is trusted when it has code and all of it is trusted', () => {
  const [signed, unsigned, text] = [
    { type: 'code', trusted: true },
    { type: 'code', trusted: false },
    { type: 'markdown', trusted: false }
  ] as const;
  expect([[signed, text], [signed, unsigned], [text], []].map(isTrusted)).toEqual([true, false, false, false]);
});

test('the instructions of a notebook are shown, and whether they are used', () => {
  expect(shown({})).toContain('Add instructions for a.ipynb');
  expect(shown({ text: 'Use <b>.' })).toMatch(/Instructions for a\.ipynb<.*Use &lt;b&gt;\./);
  expect(shown({ text: 'Use it.' })).not.toContain('not used');
  expect(shown({ text: 'Use it.', trusted: false })).toContain('(not used)');
  expect(shown({ trusted: false })).not.toContain('not used');
});
