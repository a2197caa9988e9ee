/**
 * Builds the widgets that a kernel shows: the panel and the card of a cell. It bundles them into one module and one
 * style sheet, which load nothing else, and puts both into the Python package.
 */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { addFallbacks } from './fallbacks.mjs';

const OUT = '../jupyter_eca/apps/kernel/static';
/** The most bytes that a page may load for the widgets, compressed. */
const MAX_SIZE = 150 * 1024;

const { metafile } = await build({
  metafile: true,
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
await writeFile(`${OUT}/third-party-licenses.json`, await listLicenses(Object.keys(metafile.inputs)));
const sheet = `${OUT}/panel.css`;
await writeFile(sheet, addFallbacks(await readFile(sheet, 'utf8')));
const sizes = await Promise.all(
  ['js', 'css'].map(async kind => gzipSync(await readFile(`${OUT}/panel.${kind}`)).length)
);
const size = sizes.reduce((total, bytes) => total + bytes, 0);
console.log(`widget: ${(size / 1024).toFixed(1)} KiB compressed`);
if (size > MAX_SIZE) {
  throw new Error(`the widget has ${size} bytes, compressed; ${MAX_SIZE} is the most`);
}

/**
 * Return the licences of the packages that the bundled files come from, as JSON. `files` are the paths of these files.
 * JupyterLab's builder writes the same form for the panel in Lab. Most licences require that their text is distributed
 * with the code.
 */
async function listLicenses(files) {
  const folders = new Set();
  for (const file of files) {
    const found = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(file);
    if (found) {
      folders.add(found[0]);
    }
  }
  const packages = [];
  for (const folder of [...folders].sort()) {
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
    const text = (await readdir(folder)).find(entry => /^licen[cs]e/i.test(entry));
    const extractedText = text ? await readFile(`${folder}/${text}`, 'utf8') : '';
    packages.push({ name, versionInfo: version, licenseId: license ?? '', extractedText });
  }
  return `${JSON.stringify({ packages }, null, 2)}\n`;
}
