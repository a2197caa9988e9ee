/**
 * Adds the buttons to the blocks of code in the output of an answer. It is loaded with the first answer.
 *
 * This module knows no notebook: `plugin.ts` says what the buttons do.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import '../../style/code_tools.css';

import { addCodeTools } from '../render/code_tools';
import { CodeTools } from '../render/code_tool_types';

/**
 * Add the buttons to the blocks of an answer that have none yet. Blocks in folded details are not the answer's own:
 * they have the arguments and results of tool calls.
 */
export function addToolsToAnswer(output: HTMLElement, code: CodeTools, trans: TranslationBundle): void {
  for (const text of output.querySelectorAll<HTMLElement>('.jp-RenderedMarkdown')) {
    addCodeTools(text, code, trans, 'pre > code:not(details *, .eca-Code *)');
  }
}
