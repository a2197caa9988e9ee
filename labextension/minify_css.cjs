/**
 * A loader of the bundler that puts a style sheet and those that it imports into one, and takes the comments and the
 * spaces out of it.
 */

const { buildSync } = require('esbuild');

module.exports = function minify() {
  const { metafile, outputFiles } = buildSync({
    entryPoints: [this.resourcePath],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    charset: 'utf8',
    target: 'es2022',
    absWorkingDir: this.rootContext
  });
  for (const file of Object.keys(metafile.inputs)) {
    this.addDependency(require('node:path').resolve(this.rootContext, file));
  }
  return outputFiles[0].text;
};
