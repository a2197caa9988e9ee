/**
 * Reads and changes the text of a cell that asks the assistant with `%eca` or `%%eca`. Pure.
 *
 * This module knows no notebook. The kernel parses the options for itself, in `apps/kernel/options.py`.
 */

/** Matches `%eca` or `%%eca` at the beginning of a cell. */
const QUESTION = /^\s*%{1,2}eca\b/;
/** Finds in `%%eca -m anthropic/claude why?` the parts `%%eca`, ` -m ` and `anthropic/claude`. */
const MODEL = /^(\s*%{1,2}eca)([ \t]+-m[ \t]+)?(\S*)/;

/** Whether a cell asks the assistant. */
export function isQuestion(source: string): boolean {
  return QUESTION.test(source);
}

/**
 * Return the source of a question with the option for the model. `start` and `end` are the offsets of the name of the
 * model. If the option was missing, it is added, and the name is empty: `%%eca why?` becomes `%%eca -m  why?`.
 */
export function openModelOption(source: string): { source: string; start: number; end: number } {
  const [, magic = '', option, name = ''] = MODEL.exec(source) ?? [];
  if (option !== undefined) {
    const start = magic.length + option.length;
    return { source, start, end: start + name.length };
  }
  const start = magic.length + ' -m '.length;
  return { source: `${magic} -m ${source.slice(magic.length)}`, start, end: start };
}
