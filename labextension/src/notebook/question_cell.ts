/**
 * Reads and changes the text of a cell that asks the assistant with `%eca` or `%%eca`. Pure.
 *
 * This module knows no notebook. When the cell is run, the kernel parses the options of `%%eca` by itself, in
 * `apps/kernel/options.py`.
 */

/** Matches `%eca` or `%%eca` at the beginning of a cell. */
const QUESTION = /^\s*%{1,2}eca\b/;
/** Finds in `%%eca -m anthropic/claude why?` the parts `%%eca`, ` -m ` and `anthropic/claude`. */
const MODEL = /^(\s*%{1,2}eca)([ \t]+-m[ \t]+)?(\S*)/;

/** Return whether a cell asks the assistant. */
export function isQuestion(source: string): boolean {
  return QUESTION.test(source);
}

/**
 * Return the source of a cell that asks, with the option `-m` for the model, and the offsets where the name of the
 * model starts and ends. If the option is missing, it is added with an empty name: `%%eca why?` becomes `%%eca -m
 * why?`.
 */
export function ensureModelOption(source: string): { source: string; start: number; end: number } {
  const [, magic = '', option, name = ''] = MODEL.exec(source) ?? [];
  if (option !== undefined) {
    const start = magic.length + option.length;
    return { source, start, end: start + name.length };
  }
  const start = magic.length + ' -m '.length;
  return { source: `${magic} -m ${source.slice(magic.length)}`, start, end: start };
}
