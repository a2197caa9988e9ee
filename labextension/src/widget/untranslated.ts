/**
 * A translation bundle that returns each text as it is written: without Lab there is no catalogue of translations.
 *
 * Only fills in `%1` and chooses between singular and plural, as Lab does.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

type Value = string | number;

function fillIn(text: string, values: readonly Value[]): string {
  return text.replace(/%(%|\d+)/g, (whole, what) => (what === '%' ? '%' : String(values[Number(what) - 1] ?? whole)));
}

export const untranslated: TranslationBundle = {
  __: (text, ...values: Value[]) => fillIn(text, values),
  _n: (one, more, n, ...values: Value[]) => fillIn(n === 1 ? one : more, [n, ...values]),
  _p: (_context, text, ...values: Value[]) => fillIn(text, values),
  _np: (_context, one, more, n, ...values: Value[]) => fillIn(n === 1 ? one : more, [n, ...values]),
  gettext: (text, ...values: Value[]) => fillIn(text, values),
  ngettext: (one, more, n, ...values: Value[]) => fillIn(n === 1 ? one : more, [n, ...values]),
  pgettext: (_context, text, ...values: Value[]) => fillIn(text, values),
  npgettext: (_context, one, more, n, ...values: Value[]) => fillIn(n === 1 ? one : more, [n, ...values]),
  dcnpgettext: (_domain, _context, one, more, n, ...values: Value[]) => fillIn(n === 1 ? one : more, [n, ...values])
};
