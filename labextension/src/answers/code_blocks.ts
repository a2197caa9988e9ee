/**
 * Adds the buttons to the blocks of code in the output of an answer.
 *
 * This module knows no notebook: `cell_answers.ts` says what the buttons do, and `render/code_tools.ts` draws them.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import '../../style/code_tools.css';

import { addCodeTools } from '../render/code_tools';
import { CodeTools } from '../render/code_tool_types';

/**
 * Add the buttons to the blocks of an answer that have none yet. `output` is the element of the cell's output.
 *
 * Blocks in folded details get no buttons, because they are arguments and results of tool calls, not part of the
 * answer. A block that has its buttons lies in an element of the class `eca-Code`.
 */
export function addToolsToAnswer(output: HTMLElement, code: CodeTools, trans: TranslationBundle): void {
  for (const text of output.querySelectorAll<HTMLElement>('.jp-RenderedMarkdown')) {
    addCodeTools(text, code, trans, 'pre > code:not(details *, .eca-Code *)');
  }
}
