/**
 * Builds the widgets of the kernel, the panel and the card of a cell, into the kernel's package: one module and one style
 * sheet, which load nothing else.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { fallbacks } from './fallbacks.mjs';

const OUT = '../jupyter_eca/apps/kernel/static';
/** The most bytes that a page may load for the widgets, compressed. */
const MOST = 150 * 1024;

await build({
  entryPoints: { panel: 'src/widget/entry.ts' },
  outdir: OUT,
  bundle: true,
  format: 'esm',
  minify: true,
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'inline',
  define: { 'process.env.NODE_ENV': '"production"' }
});
const sheet = `${OUT}/panel.css`;
await writeFile(sheet, fallbacks(await readFile(sheet, 'utf8')));
const sizes = await Promise.all(
  ['js', 'css'].map(async kind => gzipSync(await readFile(`${OUT}/panel.${kind}`)).length)
);
const size = sizes.reduce((sum, one) => sum + one, 0);
console.log(`widget: ${(size / 1024).toFixed(1)} KiB compressed`);
if (size > MOST) {
  throw new Error(`the widget has ${size} bytes, compressed; ${MOST} is the most`);
}
