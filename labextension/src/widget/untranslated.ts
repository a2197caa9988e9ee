/**
 * Provides a translation bundle that returns each text in English, because there are no translations without Lab.
 *
 * It only fills in `%1` and chooses between singular and plural, as Lab does. Its methods have the names of Lab's
 * interface: `n` is for plurals, `p` for a context, `d` for a domain, and each has a short and a long name.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

/** A value that replaces a placeholder such as `%1`. */
type Value = string | number;

/** Replace `%1`, `%2` … by the values, and `%%` by a percent sign. */
function fillIn(text: string, values: readonly Value[]): string {
  return text.replace(/%(%|\d+)/g, (whole, mark) => (mark === '%' ? '%' : String(values[Number(mark) - 1] ?? whole)));
}

/** The translation bundle of a widget. */
export const untranslated: TranslationBundle = {
  __: (text, ...values: Value[]) => fillIn(text, values),
  _n: (singular, plural, n, ...values: Value[]) => fillIn(n === 1 ? singular : plural, [n, ...values]),
  _p: (_context, text, ...values: Value[]) => fillIn(text, values),
  _np: (_context, singular, plural, n, ...values: Value[]) => fillIn(n === 1 ? singular : plural, [n, ...values]),
  gettext: (text, ...values: Value[]) => fillIn(text, values),
  ngettext: (singular, plural, n, ...values: Value[]) => fillIn(n === 1 ? singular : plural, [n, ...values]),
  pgettext: (_context, text, ...values: Value[]) => fillIn(text, values),
  npgettext: (_context, singular, plural, n, ...values: Value[]) => fillIn(n === 1 ? singular : plural, [n, ...values]),
  dcnpgettext: (_domain, _context, singular, plural, n, ...values: Value[]) =>
    fillIn(n === 1 ? singular : plural, [n, ...values])
};
