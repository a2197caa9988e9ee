/**
 * Configures the bundler of the panel where it differs from JupyterLab's builder.
 *
 * Two builds of one commit must be the same, byte by byte, in whatever folder they are made. By default, the id of the
 * entry module is a hash of the path of the folder. So the modules get natural ids: they are numbered in the order in
 * which they are imported.
 *
 * JupyterLab's builder has two loaders for style sheets, whose code would be in each bundle. `minify_css.cjs` takes their
 * place (`enforce: 'post'`: it comes first when the loaders are asked). The JavaScript is minified in three passes rather
 * than one, because a pass may shorten what the pass before it has left.
 */

const { SwcJsMinimizerRspackPlugin } = require('@rspack/core');

const minimizer = new SwcJsMinimizerRspackPlugin({
  minimizerOptions: { compress: { passes: 3 }, mangle: true }
});

module.exports = {
  optimization: { moduleIds: 'natural', minimizer: [minimizer] },
  module: { rules: [{ test: /\.css$/, enforce: 'post', use: require.resolve('./minify_css.cjs') }] }
};
