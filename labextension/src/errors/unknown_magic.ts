/**
 * Recognizes a cell that asks the assistant in a kernel that does not know `%eca` or `%%eca`. Pure.
 *
 * This module knows no notebook and no buttons: `error_bars.ts` shows what helps.
 */

import { isQuestion } from '../notebook/question_cell';

/**
 * What helps. `load`: the extension is loaded in this kernel. `ask`: the question is asked in the panel, because the
 * kernel runs another language than Python.
 */
export type MagicHelp = 'load' | 'ask';

/** The facts about the outputs of a cell from which the decision is made. */
export interface FailedOutputs {
  /** Whether an output is an error. */
  readonly hasError: boolean;
  /** What was printed to `stderr`. */
  readonly stderr: string;
}

/**
 * Finds what IPython prints about a magic that it does not know: the name of the error, then the name of the magic.
 * The words between them may differ. IPython prints this to `stderr`, and sends no output that is an error.
 */
const UNKNOWN_MAGIC = /^UsageError\b.*%eca\b/m;

/**
 * Return what helps in a cell; undefined when the kernel knows the magic, or when the cell has not failed. `language`
 * is the language of the kernel as the notebook names it. It is empty until a kernel has reported it.
 *
 * The decision needs no reply of the kernel, because a notebook that is opened again has only the outputs.
 */
export function findMagicHelp(source: string, outputs: FailedOutputs, language: string): MagicHelp | undefined {
  if (UNKNOWN_MAGIC.test(outputs.stderr)) {
    return 'load';
  }
  const hasFailed = outputs.hasError || outputs.stderr !== '';
  return hasFailed && isQuestion(source) && language !== '' && language !== 'python' ? 'ask' : undefined;
}
