/**
 * What the bundler of the panel does in another way than JupyterLab's builder.
 *
 * Two builds of one commit must be the same, byte by byte, in whatever folder they are made. By default, the id of the
 * entry is a hash of the path of the folder. Natural ids are the order in which the modules are imported.
 *
 * The builder puts style sheets into the JavaScript as they are written. So they are minified first. The minifier of the
 * JavaScript goes over it three times rather than once, because what one pass leaves may be shortened by the next.
 */

const { SwcJsMinimizerRspackPlugin } = require('@rspack/core');

const minimizer = new SwcJsMinimizerRspackPlugin({
  minimizerOptions: { compress: { passes: 3 }, mangle: true }
});

module.exports = {
  optimization: { moduleIds: 'natural', minimizer: [minimizer] },
  module: { rules: [{ test: /\.css$/, enforce: 'pre', use: require.resolve('./minify_css.cjs') }] }
};
