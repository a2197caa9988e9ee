/**
 * Adds the buttons to the blocks of code in the output of an answer, and to its diagrams.
 *
 * This module knows no notebook: `cell_answers.ts` passes the functions that the buttons call. `render/code_tools.ts`
 * draws the buttons of code, and `render/diagrams.ts` those of diagrams.
 */

import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';

import '../../style/code_tools.css';

import { addCodeTools } from '../render/code_tools';
import { CodeTools } from '../render/code_tool_types';
import { addDiagramButtons } from '../render/diagrams';

/**
 * The CSS selector of the diagrams that have no button yet. Their language is `text mmd`, which the kernel writes in
 * place of `mermaid`: see `DIAGRAM` in `apps/kernel/answer/inert_markdown.py`.
 */
const DIAGRAMS = '.eca-Code > pre:not(:has(+ .eca-Diagram-button)) > code.mmd';

/**
 * Add the buttons to the blocks of an answer that have none yet. `output` is the element of the cell's output.
 * `codeTools` has the functions that the buttons call, and `parser` draws the diagrams.
 *
 * Blocks in folded details get no buttons, because they are arguments and results of tool calls, not part of the
 * answer. A block that has its buttons lies in an element of the class `eca-Code`.
 */
export function addToolsToAnswer(
  output: HTMLElement,
  codeTools: CodeTools,
  parser: IRenderMimeRegistry['markdownParser'],
  trans: TranslationBundle
): void {
  for (const answer of output.querySelectorAll<HTMLElement>('.jp-RenderedMarkdown')) {
    addCodeTools(answer, codeTools, trans, 'pre > code:not(details *, .eca-Code *)');
    if (parser !== null) {
      addDiagramButtons(answer, parser, trans, DIAGRAMS);
    }
  }
}
