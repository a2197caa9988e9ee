/** Words as they are written: there is no catalogue of translations without Lab. */

import type { TranslationBundle } from '@jupyterlab/translation';

type Value = string | number;

function filled(words: string, values: readonly Value[]): string {
  return words.replace(/%(%|\d+)/g, (whole, what) => (what === '%' ? '%' : String(values[Number(what) - 1] ?? whole)));
}

export const words: TranslationBundle = {
  __: (said, ...values: Value[]) => filled(said, values),
  _n: (one, more, n, ...values: Value[]) => filled(n === 1 ? one : more, [n, ...values]),
  _p: (_context, said, ...values: Value[]) => filled(said, values),
  _np: (_context, one, more, n, ...values: Value[]) => filled(n === 1 ? one : more, [n, ...values]),
  gettext: (said, ...values: Value[]) => filled(said, values),
  ngettext: (one, more, n, ...values: Value[]) => filled(n === 1 ? one : more, [n, ...values]),
  pgettext: (_context, said, ...values: Value[]) => filled(said, values),
  npgettext: (_context, one, more, n, ...values: Value[]) => filled(n === 1 ? one : more, [n, ...values]),
  dcnpgettext: (_domain, _context, one, more, n, ...values: Value[]) => filled(n === 1 ? one : more, [n, ...values])
};
